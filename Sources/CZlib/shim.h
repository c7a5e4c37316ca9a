#include <zlib.h>

// zlib's own is a macro: a stream that becomes a gzip file.
static inline int lifespan_deflate_begin(z_stream *stream) {
  return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}
