// An estimate whether code keeps frame pointers: counts the two instructions that set one up. Used by ProgramFacts for
// `doctor`; the recorder itself verifies each image and does not rely on this.

enum FramePointerScan {
  /// Nil when there is no code to look at. x86-64: `push rbp; mov rbp, rsp` (55 48 89 E5) beside `push rbp` without it.
  static func keepsFramePointers(text: UnsafeRawBufferPointer) -> Bool? {
    guard text.count >= 64 else { return nil }
    var setUps = 0
    var entries = 0
    var index = 16
    // Compilers begin functions at multiples of 16; anything else there is code inside one and counts for neither.
    while index + 4 <= text.count {
      let afterPadding = [0xc3, 0xcc, 0x90, 0x00].contains(Int(text[index - 1]))
      if afterPadding {
        if text[index] == 0x55, text[index + 1] == 0x48, text[index + 2] == 0x89, text[index + 3] == 0xe5 {
          setUps += 1
          entries += 1
        } else if text[index] == 0x55 || text[index] == 0x53 || (text[index] == 0x41 && text[index + 1] & 0xf8 == 0x50)
        {
          entries += 1
        }
      }
      index += 16
    }
    guard entries > 0 else { return nil }
    return setUps * 2 >= entries
  }
}
