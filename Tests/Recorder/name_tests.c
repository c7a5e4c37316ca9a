// Names and rules of types.

#include <string.h>

#include "check.h"
#include "type_names.h"

static bool plain_is(const char *name, const char *wanted) {
  char plain[256];
  size_t length = lifespan_plain_name(name, strlen(name), plain, sizeof plain);
  return length == strlen(wanted) && !strcmp(plain, wanted);
}

static void private_types_lose_their_discriminator(void) {
  CHECK(plain_is("App.Node", "App.Node"));
  CHECK(plain_is("App.(unknown context at $7f12ab).Secret", "App.Secret"));
  CHECK(plain_is("App.Box<App.(unknown context at $1).A, App.(unknown context at $2).B>", "App.Box<App.A, App.B>"));
  CHECK(plain_is("App.Box<(Swift.Int, name: Swift.String)>", "App.Box<(Swift.Int, name: Swift.String)>"));
  CHECK(plain_is("(unknown context at $", "(unknown context at $"));
  CHECK(plain_is("", ""));
}

static bool glob(const char *pattern, const char *text) { return lifespan_glob(pattern, strlen(pattern), text, strlen(text)); }

static void only_the_star_is_special_in_a_pattern(void) {
  CHECK(glob("App.*", "App.Node") && glob("*", "") && glob("*Node", "App.Node") && glob("A*N*e", "App.Node"));
  CHECK(!glob("App", "App.Node") && !glob("App.*x", "App.Node") && !glob("", "a"));
  CHECK(glob("App.Box<[Int]>", "App.Box<[Int]>") && !glob("App.Box<[Int]>", "App.Box<I>"));
  CHECK(glob("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
  CHECK(!glob("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static bool allow(const char *rules, const char *name) { return lifespan_rules_allow(rules, strlen(rules), name, strlen(name)); }

static void the_last_matching_rule_wins(void) {
  CHECK(allow("", "App.Node"));
  CHECK(!allow("-App.*\n", "App.Node") && allow("-App.*\n", "Other.Node"));
  CHECK(allow("+App.*\n", "App.Node") && !allow("+App.*\n", "Other.Node"));
  CHECK(!allow("+App.*\n-*Cache\n", "App.Cache") && allow("-App.*\n+App.Node\n", "App.Node"));
  CHECK(allow("-App.*\n+App.Node", "App.Node")); // the last line without its end
}

static void storages_are_told_by_their_class(void) {
  const char *array = "Swift._ContiguousArrayStorage<Swift.Int>", *other = "App._ContiguousArrayStorage<Swift.Int>";
  CHECK_EQUAL(lifespan_class_kind(array, strlen(array)), LIFESPAN_KIND_ARRAY);
  CHECK_EQUAL(lifespan_class_kind(other, strlen(other)), LIFESPAN_KIND_CLASS);
  CHECK_EQUAL(lifespan_class_kind("Swift._SetStorage<A>", 20), LIFESPAN_KIND_SET);
  CHECK_EQUAL(lifespan_class_kind("Swift._DictionaryStorage<A, B>", 30), LIFESPAN_KIND_DICTIONARY);
}

const struct test name_tests[] = {
  {"private types lose their discriminator", private_types_lose_their_discriminator},
  {"only the star is special in a pattern", only_the_star_is_special_in_a_pattern},
  {"the last matching rule wins", the_last_matching_rule_wins},
  {"storages are told by their class", storages_are_told_by_their_class},
  {NULL, NULL},
};
