// Our two variables in the program's environment: taken out before the program sees them, given back to what it executes, as far as that
// is to be recorded or asked. See preload.h.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload.h"

#define SESSION "LIFESPAN_SESSION="
#define PRELOAD "LD_PRELOAD="
// An address sanitizer that is a shared library refuses to run where it is not the first one, unless it is told not to look: the command and we say so at
// the end of what stands there.
#define SANITIZER "ASAN_OPTIONS="
#define SANITIZER_WORD "verify_asan_link_order=0"
#define SANITIZER_LENGTH (sizeof SANITIZER - 1)
#define SESSION_LENGTH (sizeof SESSION - 1)
#define PRELOAD_LENGTH (sizeof PRELOAD - 1)

extern char **environ;

static struct {
  char session[160];   // the variable
  char library[4096];  // this library, as the dynamic linker was told
  pid_t pid;           // of the process that was started
  volatile uint32_t heirs;
} kept;
static char others[4096];               // LD_PRELOAD without us
static volatile uint32_t *original;     // 1 in the process that was started and its vfork children, 0 in a fork child

static bool is_ours(const char *word) { return !strncmp(word, SESSION, SESSION_LENGTH); }
static bool is_preload(const char *word) { return !strncmp(word, PRELOAD, PRELOAD_LENGTH); }
static bool separates(char c) { return c == ':' || c == ' '; }

// The words of LD_PRELOAD but ours, into `out` (with room for all of them). Gives the end.
static char *without_us(char *out, const char *words) {
  size_t own = strlen(kept.library);
  bool first = true;
  while (*words) {
    size_t length = 0;
    while (words[length] && !separates(words[length])) length++;
    if (length && !(length == own && !memcmp(words, kept.library, own))) {
      if (!first) *out++ = ':';
      memcpy(out, words, length);
      out += length;
      first = false;
    }
    words += length + (words[length] != 0);
  }
  *out = 0;
  return out;
}

// As the dynamic linker was told: by what it says of us, else by the name.
static void find_library(const char *preload) {
  Dl_info info;
  const char *name = dladdr((void *)&kept, &info) && info.dli_fname ? info.dli_fname : "";
  const char *base = strrchr(name, '/');
  base = base ? base + 1 : name;
  for (const char *word = preload; *word;) {
    size_t length = 0;
    while (word[length] && !separates(word[length])) length++;
    size_t base_length = strlen(base);
    bool ends = base_length && length >= base_length && !memcmp(word + length - base_length, base, base_length);
    if (ends && length < sizeof kept.library) {
      memcpy(kept.library, word, length);
      kept.library[length] = 0;
    }
    word += length + (word[length] != 0);
  }
}

static bool is_sanitizer(const char *word) { return !strncmp(word, SANITIZER, SANITIZER_LENGTH); }

// ASAN_OPTIONS as it was before the command; false: it was not there.
static bool clean_sanitizer(char *variable) {
  char *value = variable + SANITIZER_LENGTH;
  size_t length = strlen(value), word = sizeof SANITIZER_WORD - 1;
  if (length < word || strcmp(value + length - word, SANITIZER_WORD)) return true;
  if (length == word) return false;
  value[length - word - 1] = 0; // at the colon
  return true;
}

static void clean(void) {
  char **out = environ;
  for (char **in = environ; *in; in++) {
    if (is_ours(*in) || (is_sanitizer(*in) && !clean_sanitizer(*in))) continue;
    if (is_preload(*in)) {
      size_t length = strlen(*in + PRELOAD_LENGTH);
      if (length >= sizeof others - PRELOAD_LENGTH) continue;
      memcpy(others, PRELOAD, PRELOAD_LENGTH);
      if (without_us(others + PRELOAD_LENGTH, *in + PRELOAD_LENGTH) == others + PRELOAD_LENGTH) continue;
      *out++ = others;
      continue;
    }
    *out++ = *in;
  }
  *out = NULL;
}

const char *lifespan_environment_take(void) {
  const char *session = secure_getenv("LIFESPAN_SESSION"), *preload = secure_getenv("LD_PRELOAD");
  if (!session || !*session || strlen(session) >= sizeof kept.session - SESSION_LENGTH) return NULL;
  memcpy(kept.session, SESSION, SESSION_LENGTH);
  strcpy(kept.session + SESSION_LENGTH, session);
  find_library(preload ? preload : "");
  kept.pid = getpid();
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && !madvise(page, 4096, MADV_WIPEONFORK)) original = page, *original = 1;
  clean();
  return kept.session + SESSION_LENGTH;
}

void lifespan_environment_leave_to(enum lifespan_heirs heirs) { kept.heirs = heirs; }
const char *lifespan_environment_session(void) { return kept.session + SESSION_LENGTH; }
bool lifespan_environment_is_copy(void) { return original && !*original; }

void lifespan_environment_forked(void) {
  kept.pid = getpid();
  if (original) *original = 1;
}

bool lifespan_environment_is_self(void) { return kept.pid == getpid(); } // a vfork child has this memory, but not this id

bool lifespan_environment_has_heir(bool child) {
  if (kept.heirs == LIFESPAN_HEIRS_ALL) return true;
  return kept.heirs == LIFESPAN_HEIRS_SELF && !child && lifespan_environment_is_self();
}

static const char *preload_of(char *const envp[]) {
  const char *found = "";
  for (size_t i = 0; envp && envp[i]; i++)
    if (is_preload(envp[i])) found = envp[i] + PRELOAD_LENGTH;
  return found;
}

static const char *sanitizer_of(char *const envp[]) {
  const char *found = "";
  for (size_t i = 0; envp && envp[i]; i++)
    if (is_sanitizer(envp[i])) found = envp[i] + SANITIZER_LENGTH;
  return found;
}

static size_t count(char *const envp[]) {
  size_t n = 0;
  while (envp && envp[n]) n++;
  return n;
}

size_t lifespan_environment_room(char *const envp[]) {
  size_t preload = PRELOAD_LENGTH + strlen(kept.library) + 1 + strlen(preload_of(envp)) + 1;
  return (count(envp) + 4) * sizeof(char *) + preload + sizeof SANITIZER SANITIZER_WORD + 1 + strlen(sanitizer_of(envp));
}

// An address sanitizer insists on being the first library; everyone else comes after ours.
char **lifespan_environment_make(char *const envp[], void *room) {
  char **out = room, *preload = (char *)room + (count(envp) + 4) * sizeof(char *), *at = preload + PRELOAD_LENGTH;
  const char *theirs = preload_of(envp);
  bool sanitized = strstr(theirs, "asan") != NULL;
  size_t n = 0;
  for (size_t i = 0; envp && envp[i]; i++)
    if (!is_preload(envp[i]) && !is_ours(envp[i]) && !is_sanitizer(envp[i])) out[n++] = envp[i];
  memcpy(preload, PRELOAD, PRELOAD_LENGTH);
  if (sanitized) {
    at = without_us(at, theirs);
    *at++ = ':';
  }
  size_t own = strlen(kept.library);
  memcpy(at, kept.library, own);
  at += own;
  *at = 0;
  if (!sanitized) {
    char *end = without_us(at + 1, theirs);
    if (end != at + 1) *at = ':', at = end;
  }
  out[n++] = preload;
  out[n++] = ++at;
  at = stpcpy(stpcpy(at, SANITIZER), sanitizer_of(envp));
  if (at[-1] != '=') *at++ = ':';
  strcpy(at, SANITIZER_WORD);
  out[n++] = kept.session;
  out[n] = NULL;
  return out;
}
