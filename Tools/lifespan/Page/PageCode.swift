// The page's own program and style, from the files in Viewer/, which SwiftPM compiles into the command. Used by ReportCommand.
import LifespanReport

enum PageCode {
  static let viewer = PageViewer(
    document: text(PackageResources.page_html), style: text(PackageResources.page_css),
    // Each uses what stands before it.
    script: scripts.map(text).joined())

  private static let scripts = [
    PackageResources.format_js, PackageResources.dom_js, PackageResources.data_js, PackageResources.table_js,
    PackageResources.chart_js, PackageResources.stacks_js, PackageResources.timeline_js,
    PackageResources.statistics_js, PackageResources.generations_js, PackageResources.flame_js,
    PackageResources.objects_js, PackageResources.threads_js, PackageResources.memory_js, PackageResources.heap_js,
    PackageResources.main_js,
  ]

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
