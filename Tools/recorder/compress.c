// zstd for the trace's chunks, linked into this command where its static library is there: the command needs libc alone either way.
// See recorder.h.
#include "recorder.h"

#ifdef LIFESPAN_ZSTD
#include <zstd.h>

enum { LEVEL = 1 };
const bool compressor_works = true;
void *compressor_create(void) { return ZSTD_createCCtx(); }
void compressor_destroy(void *compressor) { ZSTD_freeCCtx(compressor); }
size_t compressor_run(void *compressor, void *target, size_t room, const void *bytes, size_t length) {
  size_t result = compressor ? ZSTD_compressCCtx(compressor, target, room, bytes, length, LEVEL) : 0;
  return ZSTD_isError(result) ? 0 : result;
}
#else
const bool compressor_works = false;
void *compressor_create(void) { return NULL; }
void compressor_destroy(void *compressor) { (void)compressor; }
size_t compressor_run(void *compressor, void *target, size_t room, const void *bytes, size_t length) {
  (void)compressor, (void)target, (void)room, (void)bytes, (void)length;
  return 0;
}
#endif
