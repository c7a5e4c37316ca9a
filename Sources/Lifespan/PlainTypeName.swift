// A class's name as reports print it. Used wherever the library names a type of the program.

func plainTypeName(of type: any AnyObject.Type) -> String {
  #if Recording
  Door.plainName(String(reflecting: type))
  #else
  String(reflecting: type)
  #endif
}
