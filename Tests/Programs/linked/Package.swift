// swift-tools-version: 6.1
import PackageDescription

// An ordinary program that links Lifespan and compares its answers with what it knows itself. Built and run in all linkings by
// Tests/Behaviour/linked_door.py.
let package = Package(
  name: "linked",
  dependencies: [.package(name: "lifespan", path: "../../..")],
  targets: [
    .executableTarget(name: "linked", dependencies: [.product(name: "Lifespan", package: "lifespan")])
  ]
)
