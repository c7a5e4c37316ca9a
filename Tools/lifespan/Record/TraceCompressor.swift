// zstd for the drain's chunks. Used by Recording.

import CZstd

/// One compression context; used by the draining thread, one call at a time.
final class TraceCompressor {
  private let context: OpaquePointer?
  private static let level: Int32 = 1

  init() { context = ZSTD_createCCtx() }
  deinit { ZSTD_freeCCtx(context) }

  /// Bytes written, 0 when they do not fit.
  fileprivate func compress(
    _ target: UnsafeMutableRawPointer?, _ room: Int, _ bytes: UnsafeRawPointer?, _ length: Int
  ) -> Int {
    guard let context else { return 0 }
    let result = ZSTD_compressCCtx(context, target, room, bytes, length, Self.level)
    return ZSTD_isError(result) != 0 ? 0 : result
  }

  /// As the drain calls it; its context is an unretained TraceCompressor.
  static let callback:
    @convention(c) (
      UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int
    ) -> Int = { context, target, room, bytes, length in
      guard let context else { return 0 }
      let compressor = Unmanaged<TraceCompressor>.fromOpaque(context).takeUnretainedValue()
      return compressor.compress(target, room, bytes, length)
    }
}
