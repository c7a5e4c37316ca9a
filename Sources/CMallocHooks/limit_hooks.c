// Limits of the address space: the recorder maps gigabytes (touching little), so a limit that the program sets for itself would refuse it memory that it
// gets plain. What it sets is raised by what is ours, and it is told what it has set. Limits that were there before are left alone.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))
#define LATER (128ull << 20) // tables that are mapped when they are needed

static uint64_t taken;
static struct rlimit told; // what the program has set
static bool was_told;

void lifespan_preload_takes(uint64_t bytes) { taken = bytes + LATER; }

typedef int (*limit_function)(pid_t, int, const struct rlimit *, struct rlimit *);
static int call(pid_t pid, int resource, const struct rlimit *fresh, struct rlimit *old) {
  static limit_function next;
  if (!next) next = (limit_function)dlsym(RTLD_NEXT, "prlimit");
  return next(pid, resource, fresh, old);
}

static rlim_t with_ours(rlim_t limit) { return limit >= RLIM_INFINITY - taken ? RLIM_INFINITY : limit + taken; }

// As far as the hard limit allows.
static int set_raised(const struct rlimit *wanted) {
  struct rlimit before, raised = {with_ours(wanted->rlim_cur), with_ours(wanted->rlim_max)};
  if (!call(0, RLIMIT_AS, &raised, NULL)) return 0;
  if (errno != EPERM || call(0, RLIMIT_AS, NULL, &before) || wanted->rlim_max > before.rlim_max) return call(0, RLIMIT_AS, wanted, NULL);
  raised.rlim_max = before.rlim_max;
  if (raised.rlim_cur > raised.rlim_max) raised.rlim_cur = raised.rlim_max;
  return call(0, RLIMIT_AS, &raised, NULL);
}

static int limit(pid_t pid, int resource, const struct rlimit *fresh, struct rlimit *old) {
  bool ours = resource == RLIMIT_AS && taken && (!pid || pid == getpid());
  if (!ours) return call(pid, resource, fresh, old);
  struct rlimit before;
  int result = call(pid, resource, NULL, &before);
  if (result) return result;
  if (was_told) before = told;
  if (fresh && fresh->rlim_cur > fresh->rlim_max) return errno = EINVAL, -1;
  if (fresh) {
    result = set_raised(fresh);
    if (result) return result;
    told = *fresh;
    was_told = true;
  }
  if (old) *old = before;
  return 0;
}

EXPORTED int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *fresh, struct rlimit *old) { return limit(pid, (int)resource, fresh, old); }
EXPORTED int setrlimit(__rlimit_resource_t resource, const struct rlimit *fresh) { return limit(0, (int)resource, fresh, NULL); }
EXPORTED int getrlimit(__rlimit_resource_t resource, struct rlimit *old) { return limit(0, (int)resource, NULL, old); }
_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "one layout for both");
EXPORTED int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *fresh, struct rlimit64 *old) {
  return limit(pid, (int)resource, (const struct rlimit *)fresh, (struct rlimit *)old);
}
EXPORTED int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *fresh) { return limit(0, (int)resource, (const struct rlimit *)fresh, NULL); }
EXPORTED int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *old) { return limit(0, (int)resource, NULL, (struct rlimit *)old); }
