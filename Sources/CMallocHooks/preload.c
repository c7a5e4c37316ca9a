// The preload library's life: in every process that the dynamic linker loads it into, decide whether this is the program to record, and
// start the recorder. Inert where there is no Swift runtime. Run by the dynamic linker before the program's own constructors.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lifespan_interpose.h"
#include "lifespan_recorder.h"
#include "preload.h"

extern char **environ;

// ---- Words for the user ---------------------------------------------------------------------------------------------------

void lifespan_preload_say(const char *what, const char *why) {
  char line[512];
  int length = snprintf(line, sizeof line, "lifespan: %s: %s\n", what, why);
  if (length > 0) (void)!write(2, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

// ---- The environment --------------------------------------------------------------------------------------------------------

static struct lifespan_preload_environment saved; // for an exec of the recorded process

// Takes our variables out, in place. LD_PRELOAD keeps what others put there.
static void clean_environment(void) {
  char **out = environ;
  for (char **in = environ; *in; in++) {
    if (!strncmp(*in, "LIFESPAN_SESSION=", 17)) continue;
    if (!strncmp(*in, "LD_PRELOAD=", 11)) {
      const char *rest = strchr(*in, ':');
      if (!rest) continue;
      snprintf(saved.others, sizeof saved.others, "LD_PRELOAD=%s", rest + 1);
      *out++ = saved.others;
      continue;
    }
    *out++ = *in;
  }
  *out = NULL;
}

static void save_environment(const char *session) {
  snprintf(saved.session, sizeof saved.session, "LIFESPAN_SESSION=%s", session);
  const char *preload = getenv("LD_PRELOAD");
  snprintf(saved.preload, sizeof saved.preload, "LD_PRELOAD=%s", preload ? preload : "");
  saved.pid = getpid();
}

const struct lifespan_preload_environment *lifespan_preload_saved(void) { return saved.pid ? &saved : NULL; }

// ---- The session ------------------------------------------------------------------------------------------------------------

static int connect_to(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -1;
  strcpy(address.sun_path, path);
  int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  int result;
  do result = connect(descriptor, (struct sockaddr *)&address, sizeof address);
  while (result && errno == EINTR);
  if (!result) return descriptor;
  close(descriptor);
  return -1;
}

// Receives the verdict and, with RECORD, the mapping's descriptor. False: the session is gone.
static bool receive(int session, struct lifespan_message *answer, int *mapping) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {answer, sizeof *answer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t length;
  do length = recvmsg(session, &message, MSG_CMSG_CLOEXEC);
  while (length < 0 && errno == EINTR);
  if (length < (ssize_t)offsetof(struct lifespan_message, text)) return false;
  *mapping = -1;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) memcpy(mapping, CMSG_DATA(header), sizeof *mapping);
  return true;
}

static bool ask(int session, int runtime, const char *reason, struct lifespan_message *answer, int *mapping) {
  static struct lifespan_message hello;
  hello.abi = LIFESPAN_ABI;
  hello.op = LIFESPAN_OP_HELLO;
  hello.pid = (uint32_t)getpid();
  hello.runtime = (uint32_t)runtime;
  hello.length = (uint32_t)lifespan_recorder_executable(hello.text, sizeof hello.text);
  if (runtime == 2) hello.length = (uint32_t)snprintf(hello.text, sizeof hello.text, "%s", reason);
  ssize_t sent;
  do sent = send(session, &hello, sizeof hello, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)sizeof hello && receive(session, answer, mapping);
}

static struct lifespan_map *map_recording(int descriptor) {
  struct stat status;
  void *memory = MAP_FAILED;
  if (!fstat(descriptor, &status) && (uint64_t)status.st_size >= LIFESPAN_DATA_OFFSET)
    for (uint64_t size = LIFESPAN_MAP_VIRTUAL; memory == MAP_FAILED && size >= 256ull << 20; size /= 2)
      memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) return NULL;
  struct lifespan_map *map = memory;
  return map->magic == LIFESPAN_MAP_MAGIC && map->abi == LIFESPAN_ABI ? map : NULL;
}

// ---- Start --------------------------------------------------------------------------------------------------------------------

static void mark_by_signal(int signal) {
  (void)signal;
  int saved_errno = errno;
  lifespan_recorder_mark("", 0);
  errno = saved_errno;
}

static void start(struct lifespan_map *map) {
  lifespan_preload_name_with(lifespan_executable_malloc());
  lifespan_recorder_foreign_free(lifespan_preload_foreign_free());
  enum lifespan_start_status status = lifespan_recorder_start(map, NULL, NULL);
  if (status != LIFESPAN_START_OK) { // said by the command, in its closing line
    if (!map->capture_reason[0]) snprintf(map->capture_reason, sizeof map->capture_reason, "the recorder did not start (status %d)", (int)status);
    return;
  }
  if (map->options.mark_signal) {
    struct sigaction action = {.sa_handler = mark_by_signal, .sa_flags = SA_RESTART};
    sigaction((int)map->options.mark_signal, &action, NULL);
  }
}

static void join_session(const char *session_path) {
  char reason[256];
  int runtime = lifespan_recorder_runtime(reason, sizeof reason);
  int session = connect_to(session_path);
  if (session < 0) {
    if (runtime == 1) lifespan_preload_say("nothing recorded", "the recording command can't be reached");
    clean_environment();
    return;
  }
  static struct lifespan_message answer;
  int descriptor = -1;
  bool answered = ask(session, runtime, reason, &answer, &descriptor);
  close(session);
  if (answered && answer.status == LIFESPAN_VERDICT_RECORD && descriptor >= 0) {
    struct lifespan_map *map = map_recording(descriptor);
    save_environment(session_path);
    clean_environment();
    if (map) start(map);
    else lifespan_preload_say("nothing recorded", "the recording's memory can't be mapped");
  } else if (!answered || answer.status != LIFESPAN_VERDICT_PASS) {
    clean_environment();
  }
}

__attribute__((constructor)) static void preload_start(void) {
  int saved_errno = errno;
  uint32_t was = lifespan_quiet_begin(LIFESPAN_QUIET_OURS);
  const char *session_path = getenv("LIFESPAN_SESSION");
  if (session_path && *session_path) join_session(session_path);
  lifespan_record_no_early_blocks();
  lifespan_quiet_end(was);
  errno = saved_errno;
}

// The linked library finds the recorder of this process by this name.
__attribute__((visibility("default"))) const struct lifespan_door_table *lifespan_preload_door(void) { return lifespan_recorder_own_door(); }
