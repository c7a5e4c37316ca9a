// One line of JSON: a session's status, and what the clients print. Read as what it is, the word of another process. See recorder.h.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

// Bytes of the UTF-8 character that begins here, 0 when none does.
static size_t character(const unsigned char *at) {
  unsigned first = at[0];
  if (first < 0x80) return 1;
  size_t length = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 && first < 0xe0 ? 2 : 0;
  if (first > 0xf4 || !length) return 0;
  for (size_t i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80) return 0;
  // Not longer than needed, no surrogates, not beyond the last.
  if (length == 3 && ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f))) return 0;
  if (length == 4 && ((first == 0xf0 && at[1] < 0x90) || (first == 0xf4 && at[1] > 0x8f))) return 0;
  return length;
}

void put_json_string(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    size_t length = character(at);
    if (*at == '"' || *at == '\\') fprintf(out, "\\%c", *at);
    else if (*at < 0x20 || *at == 0x7f) fprintf(out, "\\u%04x", *at);
    else if (length) fwrite(at, 1, length, out);
    else fputs("\xef\xbf\xbd", out);
    at += length ? length : 1;
  }
  fputc('"', out);
}

static void put_utf8(FILE *out, unsigned value) {
  if (value < 0x80) fputc((int)value, out);
  else if (value < 0x800) fprintf(out, "%c%c", 0xc0 | value >> 6, 0x80 | (value & 0x3f));
  else fprintf(out, "%c%c%c", 0xe0 | value >> 12, 0x80 | (value >> 6 & 0x3f), 0x80 | (value & 0x3f));
}

// One escape after its backslash. Returns what follows it.
static const char *put_unescaped(FILE *out, const char *at) {
  static const char names[] = "bfnrt", meant[] = "\b\f\n\r\t";
  if (!*at) return at;
  const char *known = strchr(names, *at);
  if (*at != 'u') {
    fputc(known ? meant[known - names] : *at, out);
    return at + 1;
  }
  char digits[5] = "";
  strncpy(digits, at + 1, 4);
  unsigned value = (unsigned)strtoul(digits, NULL, 16);
  put_utf8(out, value ? value : 0xfffd); // a zero would end our string
  return at + 1 + strlen(digits);
}

// Past a string, from its first quote on; writes what it says to `out` unless that is NULL.
static const char *skip_string(const char *at, FILE *out) {
  for (at++; *at && *at != '"';) {
    if (*at == '\\' && out) at = put_unescaped(out, at + 1);
    else if (*at == '\\') at += at[1] ? 2 : 1;
    else {
      if (out) fputc(*at, out);
      at++;
    }
  }
  return *at ? at + 1 : at;
}

// Where the member's value begins. The objects are flat: a string before a colon is a name.
static const char *member(const char *line, const char *name) {
  size_t length = strlen(name);
  for (const char *at = line; *at;) {
    if (*at != '"') {
      at++;
      continue;
    }
    const char *end = skip_string(at, NULL);
    const char *after = end + strspn(end, " ");
    if (*after == ':' && (size_t)(end - at) == length + 2 && !memcmp(at + 1, name, length)) {
      after++;
      return after + strspn(after, " ");
    }
    at = end;
  }
  return NULL;
}

bool json_number(const char *line, const char *name, int64_t *value) {
  const char *at = member(line, name);
  char *end = NULL;
  if (!at) return false;
  *value = strtoll(at, &end, 10);
  return end != at;
}

bool json_bool(const char *line, const char *name) {
  const char *at = member(line, name);
  return at && !strncmp(at, "true", 4);
}

char *json_text(const char *line, const char *name) {
  const char *at = member(line, name);
  if (!at || *at != '"') return NULL;
  char *text = NULL;
  FILE *out = begin_text(&text);
  skip_string(at, out);
  end_text(out);
  return text;
}
