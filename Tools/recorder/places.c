// Where session sockets lie: $XDG_RUNTIME_DIR/lifespan/PID.sock, else a private folder in the temporary directory, else (an image whose
// only writable folder is the one for the traces) one beside the trace. `record` listens in the first that can be used; the other
// commands look through all of them, and through what the kernel says is bound. See recorder.h.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder.h"

enum { LONGEST_TMPDIR = 70 }; // a socket's path holds 107 bytes

// NULL when the folder is ours alone: no symbolic link, no other owner, no rights of others. Someone else could answer there.
static char *problem_of(const char *path) {
  struct stat status;
  if (lstat(path, &status) != 0) return text_of("%s: %s", path, strerror(errno));
  if (!S_ISDIR(status.st_mode)) return text_of("%s is no directory", path);
  if (status.st_uid != geteuid()) return text_of("%s belongs to user %u", path, (unsigned)status.st_uid);
  if (status.st_mode & 077) return text_of("%s is open to others: chmod 700 it", path);
  return NULL;
}

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value == '/' ? value : NULL;
}

// The folders in the order in which `record` tries them, up to a NULL.
static void candidates(char *folders[5], const char *beside) {
  const char *runtime = variable("XDG_RUNTIME_DIR"), *temporary = variable("TMPDIR");
  unsigned user = (unsigned)geteuid();
  size_t count = 0;
  if (!temporary) temporary = "/tmp";
  if (runtime) folders[count++] = text_of("%s/lifespan", runtime);
  folders[count++] = text_of("%s/lifespan-%u", temporary, user);
  if (strlen(temporary) > LONGEST_TMPDIR) folders[count++] = text_of("/tmp/lifespan-%u", user);
  if (beside) folders[count++] = text_of("%s/.lifespan-%u", beside, user);
  folders[count] = NULL;
}

static int listen_in(const char *folder, char **path, char **problem) {
  int made = mkdir(folder, 0700) == 0 || errno == EEXIST ? 0 : -errno;
  *problem = made < 0 ? text_of("%s: %s", folder, strerror(-made)) : problem_of(folder);
  if (*problem) return made < 0 ? made : -EPERM;
  *path = text_of("%s/%d.sock", folder, (int)getpid());
  unlink(*path); // what lies there under our own pid was left behind by a process that is gone
  int socket = session_listen(*path);
  if (socket < 0) *problem = text_of("%s: %s", *path, strerror(-socket));
  return socket;
}

void leave_place(char *path) {
  unlink(path);
  *strrchr(path, '/') = 0;
  // A folder of ours beside a trace is in somebody's way.
  if (file_name(path)[0] == '.') rmdir(path);
}

int listen_somewhere(const char *beside, char **path) {
  char *folders[5], *problems = NULL;
  FILE *out = begin_text(&problems);
  candidates(folders, beside);
  for (size_t i = 0; folders[i]; i++) {
    char *problem = NULL;
    int socket = listen_in(folders[i], path, &problem);
    if (socket == -ENOENT) socket = listen_in(folders[i], path, &problem); // another `record` has just removed the folder
    if (socket >= 0) return socket;
    fprintf(out, "%s%s", i ? "; " : "", problem);
  }
  end_text(out);
  *path = NULL;
  fail(STATUS_UNUSABLE, "no place for the session's socket: %s; name a writable folder in TMPDIR", problems);
}

// ---- Looking for them -----------------------------------------------------------------------------------------------------

static struct {
  char **paths;
  size_t count;
} seen;

static bool is_new(const char *path) {
  for (size_t i = 0; i < seen.count; i++)
    if (!strcmp(seen.paths[i], path)) return false;
  seen.paths = grown(seen.paths, seen.count + 1, sizeof *seen.paths);
  seen.paths[seen.count++] = text_of("%s", path);
  return true;
}

// PID.sock
static bool is_socket_name(const char *name) {
  size_t digits = strspn(name, "0123456789");
  return digits && !strcmp(name + digits, ".sock");
}

static void in_folder(const char *folder, void (*found)(const char *, void *), void *context) {
  char *problem = problem_of(folder);
  DIR *entries = problem ? NULL : opendir(folder);
  free(problem);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    if (!is_socket_name(entry->d_name)) continue;
    char *path = text_of("%s/%s", folder, entry->d_name);
    if (is_new(path)) found(path, context);
    free(path);
  }
  if (entries) closedir(entries);
}

// A recording whose TMPDIR was another than ours: its socket's path stands in the kernel's list, if it is one of ours by its name.
static void in_list(void (*found)(const char *, void *), void *context) {
  FILE *list = fopen("/proc/net/unix", "re");
  char *line = NULL, *hidden = text_of(".lifespan-%u", (unsigned)geteuid());
  size_t room = 0;
  while (list && getline(&line, &room, list) > 0) {
    char *path = strchr(line, '/'), *last, *folder;
    if (!path) continue;
    path[strcspn(path, "\n")] = 0;
    last = strrchr(path, '/');
    if (!is_socket_name(last + 1)) continue;
    *last = 0;
    folder = strrchr(path, '/');
    bool ours = folder && (!strcmp(folder + 1, "lifespan") || !strcmp(folder + 1, hidden + 1) || !strcmp(folder + 1, hidden));
    if (ours) in_folder(path, found, context);
  }
  free(line);
  free(hidden);
  if (list) fclose(list);
}

void each_socket(bool elsewhere, void (*found)(const char *path, void *context), void *context) {
  char *folders[5];
  candidates(folders, NULL);
  for (size_t i = 0; !elsewhere && folders[i]; i++) in_folder(folders[i], found, context);
  if (elsewhere) in_list(found, context);
}
