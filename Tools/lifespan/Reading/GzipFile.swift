// Bytes as a gzip file, by zlib. Used by export.
import CZlib

enum GzipFile {
  /// The whole file.
  static func bytes(of content: [UInt8]) throws -> [UInt8] {
    var stream = z_stream()
    guard content.count < Int(UInt32.max), lifespan_deflate_begin(&stream) == Z_OK else {
      throw CommandFailure("\(content.count) bytes are more than can be compressed at once")
    }
    defer { deflateEnd(&stream) }
    var content = content
    let room = Int(deflateBound(&stream, UInt(content.count)))
    return content.withUnsafeMutableBufferPointer { input in
      [UInt8](unsafeUninitializedCapacity: room) { output, count in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(room)
        deflate(&stream, Z_FINISH)
        count = room - Int(stream.avail_out)
      }
    }
  }
}
