// As much of JSON Schema as JSON.md uses, to hold documents against it. Used by JSONSchemaTests.
import Foundation

/// One schema out of the documentation.
struct JSONSchema {
  private let root: [String: Any]
  private let common: [String: Any]

  var title: String { root["title"] as? String ?? "" }

  /// All schemas of a Markdown text, in order; the one that others refer to as `common` is none by itself.
  static func all(inMarkdown text: String) throws -> [JSONSchema] {
    let blocks = try text.components(separatedBy: "```json\n").dropFirst().map { part in
      let body = part.components(separatedBy: "\n```").first ?? ""
      return try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] ?? [:]
    }
    let common = blocks.first { $0["$id"] as? String == "common" } ?? [:]
    return blocks.filter { $0["$id"] == nil }.map { JSONSchema(root: $0, common: common) }
  }

  /// What is wrong with a document; empty when it fits.
  func problems(of document: Any) -> [String] { check(document, root, at: "") }

  private func check(_ value: Any, _ schema: [String: Any], at path: String) -> [String] {
    if let reference = schema["$ref"] as? String, let name = reference.split(separator: "/").last {
      let definitions = (reference.hasPrefix("common") ? common : root)["$defs"] as? [String: Any]
      guard let target = definitions?[String(name)] as? [String: Any] else { return ["\(path): no \(reference)"] }
      return check(value, target, at: path)
    }
    if let choices = schema["anyOf"] as? [[String: Any]] {
      return choices.contains { check(value, $0, at: path).isEmpty } ? [] : ["\(path): none of anyOf"]
    }
    if let constant = schema["const"] as? NSObject, constant != value as? NSObject {
      return ["\(path): not \(constant)"]
    }
    if let choices = schema["enum"] as? [NSObject], !choices.contains(where: { $0 == value as? NSObject }) {
      return ["\(path): \(value) is none of \(choices)"]
    }
    let types = schema["type"] as? [String] ?? (schema["type"] as? String).map { [$0] } ?? []
    if !types.isEmpty, !types.contains(where: { Self.isType(value, $0) }) { return ["\(path): is no \(types)"] }
    if let list = value as? [Any], let items = schema["items"] as? [String: Any] {
      return list.enumerated().flatMap { check($0.element, items, at: "\(path)[\($0.offset)]") }
    }
    if let object = value as? [String: Any] { return check(object: object, schema, at: path) }
    return []
  }

  private func check(object: [String: Any], _ schema: [String: Any], at path: String) -> [String] {
    let properties = schema["properties"] as? [String: [String: Any]] ?? [:]
    let required = schema["required"] as? [String] ?? []
    var problems = required.filter { object[$0] == nil }.map { "\(path): lacks \($0)" }
    for (key, value) in object {
      if let property = properties[key] ?? schema["additionalProperties"] as? [String: Any] {
        problems += check(value, property, at: "\(path).\(key)")
      } else {
        problems.append("\(path): \(key) is not documented")
      }
    }
    return problems
  }

  private static func isType(_ value: Any, _ type: String) -> Bool {
    let isBool = (value as? NSNumber).map { String(cString: $0.objCType) == "c" } ?? false
    switch type {
    case "null": return value is NSNull
    case "boolean": return isBool
    case "integer": return value is Int && !isBool
    case "number": return value is NSNumber && !isBool
    case "string": return value is String
    case "array": return value is [Any]
    case "object": return value is [String: Any]
    default: return false
    }
  }
}
