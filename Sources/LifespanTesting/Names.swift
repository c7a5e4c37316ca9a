// Types as reports name them.
import Lifespan

enum Names {
  static func of(_ type: any AnyObject.Type) -> String { "\(Allocations.Types.type(type))" }
}
