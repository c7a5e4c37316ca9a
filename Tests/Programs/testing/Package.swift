// swift-tools-version: 6.1
import PackageDescription

// A test suite that uses LifespanTesting, as a user's does. Everything passes; with PLANTED=1 every test fails. Beside it the examples of
// the documentation. Built and run by Tests/Behaviour/testing.py.
let package = Package(
  name: "shop",
  dependencies: [.package(name: "lifespan", path: "../../..")],
  targets: [
    .executableTarget(name: "snippets", dependencies: [.product(name: "Lifespan", package: "lifespan")]),
    .executableTarget(name: "test-snippets", dependencies: [.product(name: "LifespanTesting", package: "lifespan")]),
    .testTarget(name: "ShopTests", dependencies: [.product(name: "LifespanTesting", package: "lifespan")]),
  ]
)
