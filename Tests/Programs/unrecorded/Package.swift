// swift-tools-version: 6.1
import PackageDescription

// A program that calls everything in Lifespan and is built without the trait Recording. Built and run by Tests/Behaviour/linking.py.
let package = Package(
  name: "unrecorded",
  dependencies: [.package(name: "lifespan", path: "../../..", traits: [])],
  targets: [
    .executableTarget(name: "unrecorded", dependencies: [.product(name: "Lifespan", package: "lifespan")])
  ]
)
