import Foundation
import PushRegistry

/// The plan of a query, by PostgreSQL's planner.
enum AudienceExplanation {
    /// - Parameters:
    ///   - text: the plan, as `explain` returns it.
    ///   - tableRows: about the number of installations of all apps.
    static func plan(_ text: String, tableRows: Int64) -> AudiencePlan {
        let plans = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [[String: Any]]
        let nodes = plans?.first?["Plan"].map(nodes(of:)) ?? []
        let scans = nodes.filter { ($0["Relation Name"] as? String) == "installation" }
        let found = nodes.filter(isSelective)
        guard let scan = scans.first, !found.isEmpty, !readsAll(scan) else {
            return AudiencePlan(path: .scan, estimatedRows: tableRows)
        }
        return AudiencePlan(path: .index, estimatedRows: max(rows(scan), found.map(rows).max() ?? 0))
    }

    /// An index condition on more than the app.
    private static func isSelective(_ node: [String: Any]) -> Bool {
        guard let condition = node["Index Cond"] as? String else { return false }
        return condition.contains(" AND ") || !condition.contains("app_id")
    }

    /// An index may find what a filter excludes, and then all installations are read. The indexes of a bitmap are below
    /// the scan, beside subplans of the filter.
    private static func readsAll(_ scan: [String: Any]) -> Bool {
        let bitmaps = (scan["Plans"] as? [[String: Any]] ?? []).filter {
            $0["Parent Relationship"] as? String == "Outer"
        }
        return !([scan] + bitmaps.flatMap(nodes(of:))).contains(where: isSelective)
    }

    private static func rows(_ node: [String: Any]) -> Int64 {
        (node["Plan Rows"] as? NSNumber)?.int64Value ?? 0
    }

    private static func nodes(of plan: Any) -> [[String: Any]] {
        guard let node = plan as? [String: Any] else { return [] }
        let children = node["Plans"] as? [Any] ?? []
        return [node] + children.flatMap(nodes(of:))
    }
}
