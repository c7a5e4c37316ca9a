// Pointer mode: where the system forbids changing code (no writable and executable memory), the runtime's own data pointers for instruments are
// set instead. Births are seen; deaths by the interposed free(), so a deinit is seen when its memory goes. Called by hooks.c when no detour could be
// installed.
//
// Setting _swift_allocObject makes Swift 6.3 send every retain through an adapter that masks the sign bit away before it is tested, so that
// retaining a long string literal reads a wild address. The adapter's own pointer is replaced first.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include <string.h>

#include "internal.h"

#if defined(__x86_64__)

#define ADAPTER_DISTANCE 0x40 // from _swift_allocObject to the adapter's pointer (6.3); checked by the code it points to
static const uint8_t adapter_code[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x50, 0x48, 0x89, 0xfb, 0x48,
                                       0xbf, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};

#pragma GCC visibility push(hidden)
extern void *lifespan_original_allocObject;
extern char lifespan_hook_allocObject[];
#pragma GCC visibility pop

static void *(**retain_pointer)(void *);

static void *adapter(void *object) {
  if ((intptr_t)object > 0) (*retain_pointer)((void *)((uintptr_t)object & 0x00fffffffffffff8ull));
  return object;
}

bool lifespan_pointers_start(void) {
  void **allocate = lifespan_symbol("_swift_allocObject");
  retain_pointer = (void *(**)(void *))lifespan_symbol("_swift_retain");
  if (!allocate || !retain_pointer) return false;
  void **adapter_pointer = (void **)((char *)allocate + ADAPTER_DISTANCE);
  if (!*adapter_pointer || memcmp(*adapter_pointer, adapter_code, sizeof adapter_code)) return false;
  lifespan_original_allocObject = *allocate;
  __atomic_store_n(adapter_pointer, (void *)adapter, __ATOMIC_SEQ_CST);
  __atomic_store_n(allocate, (void *)lifespan_hook_allocObject, __ATOMIC_SEQ_CST);
  return true;
}

#else
bool lifespan_pointers_start(void) { return false; }
#endif

#endif
