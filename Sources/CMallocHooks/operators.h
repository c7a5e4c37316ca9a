// C++'s operator new and delete by their symbols: parameters, their types, and the arguments of a call. No guard: whoever includes it has
// defined NEW and DELETE (new_hooks.c, linked_hooks.c).

NEW(_Znwm, (size_t size), (size_t), size)
NEW(_Znam, (size_t size), (size_t), size)
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size_t, const void *), size, tag)
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size_t, const void *), size, tag)
NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), (size_t, size_t), size, alignment)
NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), (size_t, size_t), size, alignment)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *tag), (size_t, size_t, const void *), size, alignment, tag)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *tag), (size_t, size_t, const void *), size, alignment, tag)

DELETE(_ZdlPv, (void *block), (void *), block)
DELETE(_ZdaPv, (void *block), (void *), block)
DELETE(_ZdlPvm, (void *block, size_t size), (void *, size_t), block, size)
DELETE(_ZdaPvm, (void *block, size_t size), (void *, size_t), block, size)
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (void *, const void *), block, tag)
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *tag), (void *, const void *), block, tag)
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t alignment), (void *, size_t), block, alignment)
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t alignment), (void *, size_t), block, alignment)
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment), (void *, size_t, size_t), block, size, alignment)
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t alignment), (void *, size_t, size_t), block, size, alignment)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, const void *tag), (void *, size_t, const void *), block, alignment, tag)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, const void *tag), (void *, size_t, const void *), block, alignment, tag)
