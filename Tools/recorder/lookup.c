// The program and what stands against recording it, the preload library, the program's environment. See recorder.h.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder.h"

#define LIBRARY "liblifespan_preload.so"

// ---- The program ----------------------------------------------------------------------------------------------------

// 0, or 126 or 127 with the reason.
static int check(const char *path, const char **reason) {
  struct stat status;
  *reason = NULL;
  if (stat(path, &status) != 0) {
    *reason = strerror(errno);
    return errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
  }
  if (S_ISDIR(status.st_mode)) *reason = "is a directory";
  else if (access(path, X_OK) != 0) *reason = strerror(errno);
  return *reason ? STATUS_NOT_EXECUTABLE : 0;
}

char *find_program(const char *name) {
  const char *reason;
  if (!*name) fail(STATUS_NOT_FOUND, "'': no such program");
  if (strchr(name, '/')) {
    int wrong = check(name, &reason);
    if (wrong) fail(wrong, "%s: %s", name, reason);
    return text_of("%s", name);
  }
  char *denied = NULL;
  const char *path = getenv("PATH");
  for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin";; at++) {
    size_t length = strcspn(at, ":");
    char *candidate = length ? text_of("%.*s/%s", (int)length, at, name) : text_of("./%s", name);
    int wrong = check(candidate, &reason);
    if (!wrong) return candidate;
    if (wrong == STATUS_NOT_EXECUTABLE && !denied) denied = text_of("%s: %s", candidate, reason);
    free(candidate);
    at += length;
    if (!*at) break;
  }
  if (denied) fail(STATUS_NOT_EXECUTABLE, "%s", denied);
  fail(STATUS_NOT_FOUND, "%s: not found in PATH", name);
}

// ---- What stands against it ---------------------------------------------------------------------------------------------

static bool is_privileged(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) return false;
  // The dynamic linker drops LD_PRELOAD only where the ids really change.
  if (status.st_mode & S_ISUID && (status.st_uid != geteuid() || getuid() != geteuid())) return true;
  if (status.st_mode & S_ISGID && status.st_mode & S_IXGRP && status.st_gid != getegid()) return true;
  return session_has_capabilities(path);
}

// Whether it names a dynamic linker. Reads with bounds: the file is not trusted.
static bool names_interpreter(int file, const Elf64_Ehdr *header) {
  for (unsigned i = 0; i < header->e_phnum; i++) {
    Elf64_Phdr segment;
    off_t at = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);
    if (pread(file, &segment, sizeof segment, at) != (ssize_t)sizeof segment) return false;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

const char *obstacle(const char *path, const char **cure) {
  Elf64_Ehdr header;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return NULL;
  bool elf = pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
             header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
  bool dynamic = elf && names_interpreter(file, &header);
  close(file);
  if (!elf) return NULL; // a script: its interpreter is another matter
  if (header.e_machine != EM_X86_64) {
    *cure = "build it for x86-64";
    return "it is built for another processor";
  }
  if (is_privileged(path)) {
    *cure = "run a copy without them";
    return "it changes its user, group or capabilities, so the system loads nothing into it";
  }
  if (dynamic) return NULL;
  *cure = "build it without -static-executable, or link Lifespan into it";
  return "it is a static executable, nothing can be loaded into it";
}

// ---- Our library ----------------------------------------------------------------------------------------------------------

// This executable's file, also where no /proc is mounted: then by the path that the kernel was given.
static bool own_path(char room[PATH_MAX]) {
  if (realpath("/proc/self/exe", room)) return true;
  const char *started = (const char *)getauxval(AT_EXECFN);
  return started && realpath(started, room);
}

// LD_PRELOAD splits at colons and spaces and knows no quoting.
static char *usable(const char *path) {
  if (strpbrk(path, ": "))
    fail(STATUS_UNUSABLE, "%s: the dynamic linker takes no preload path with a colon or a space; move it", path);
  return text_of("%s", path);
}

char *preload_library(void) {
  char room[PATH_MAX], real[PATH_MAX];
  const char *given = getenv("LIFESPAN_PRELOAD");
  if (given && *given) {
    if (!realpath(given, real)) fail(STATUS_UNUSABLE, "LIFESPAN_PRELOAD=%s: %s", given, strerror(errno));
    return usable(real);
  }
  if (!own_path(room)) fail(STATUS_UNUSABLE, "the place of this command is not known; name the preload library in LIFESPAN_PRELOAD");
  *strrchr(room, '/') = 0;
  char *places[] = {text_of("%s/" LIBRARY, room), text_of("%s/../lib/lifespan/" LIBRARY, room)};
  for (size_t i = 0; i < 2; i++)
    if (realpath(places[i], real)) return usable(real);
  fail(STATUS_UNUSABLE, LIBRARY " is not there (%s, %s); unpack the recorder as a whole", places[0], places[1]);
}

// ---- The environment --------------------------------------------------------------------------------------------------------

// Others' libraries come after ours, but for an address sanitizer's, which insists on being the first.
static char *preload_list(const char *library, const char *previous) {
  char *list = NULL;
  FILE *out = begin_text(&list);
  for (int sanitizers = 1; sanitizers >= 0; sanitizers--) {
    for (const char *at = previous; *at;) {
      size_t length = strcspn(at, ": ");
      bool ours = length == strlen(library) && !strncmp(at, library, length);
      bool sanitizer = memmem(at, length, "asan", 4) != NULL;
      if (length && !ours && sanitizer == (sanitizers == 1)) fprintf(out, sanitizer ? "%.*s:" : ":%.*s", (int)length, at);
      at += length;
      if (*at) at++;
    }
    if (sanitizers) fputs(library, out);
  }
  end_text(out);
  return list;
}

char **program_environment(const char *library, const char *socket) {
  size_t count = 0;
  const char *previous = "";
  const char *sanitizer = "";
  char **next = NULL;
  for (char **entry = environ; *entry; entry++) {
    if (!strncmp(*entry, "LIFESPAN_SESSION=", 17)) continue;
    if (library && !strncmp(*entry, "ASAN_OPTIONS=", 13)) {
      sanitizer = *entry + 13;
      continue;
    }
    if (!strncmp(*entry, "LD_PRELOAD=", 11)) {
      previous = *entry + 11;
      continue;
    }
    next = grown(next, count + 5, sizeof *next);
    next[count++] = *entry;
  }
  next = grown(next, count + 5, sizeof *next);
  if (library) {
    char *list = preload_list(library, previous);
    next[count++] = text_of("LD_PRELOAD=%s", list);
    free(list);
    // One that is a shared library refuses to run where it is not the first, unless it is told not to look.
    next[count++] = text_of("ASAN_OPTIONS=%s%sverify_asan_link_order=0", sanitizer, *sanitizer ? ":" : "");
  } else if (*previous) {
    next[count++] = text_of("LD_PRELOAD=%s", previous);
  }
  if (socket) next[count++] = text_of("LIFESPAN_SESSION=%s", socket);
  next[count] = NULL;
  return next;
}
