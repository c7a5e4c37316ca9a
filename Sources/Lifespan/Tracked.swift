// What marks a class as tracked: conformance to Tracked, directly or by the base class TrackedObject. The recorder
// finds conforming types by the images' conformance records, so that a marked type costs nothing while nothing is
// recorded.

/// Marks a class whose objects are followed one by one: every allocation, retain, release and deallocation is recorded
/// with its backtrace, whatever the recording leaves out otherwise.
///
/// For what cannot inherit from ``TrackedObject``: actors, final `Sendable` classes, subclasses of `NSObject` or
/// `ManagedBuffer`, generic classes. Subclasses are tracked with their superclass. The protocol has no requirements.
///
/// ```swift
/// actor Session: Tracked { … }
/// ```
///
/// Cost: none while nothing is recorded. While recording: one ring record for each birth, retain, release and death of
/// these objects.
public protocol Tracked: AnyObject {}

/// A base class for objects that are followed one by one; see ``Tracked``.
///
/// ```swift
/// final class Page: TrackedObject { … }
/// ```
open class TrackedObject: Tracked {
  /// Makes the object. Nothing else happens here: its birth is recorded where its memory is allocated.
  public init() {}
}
