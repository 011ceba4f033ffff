import PushRegistry
import StrictJSON

/// Expands the segments of an app in filters.
struct FilterResolver: Sendable {
    let segments: any SegmentStore
    let vocabulary: FilterVocabulary

    /// The simplified filter with its segments expanded, and the faults of the segments.
    func expanded(
        _ filter: AudienceFilter, in app: AppNumber
    ) async throws -> (filter: AudienceFilter, faults: [SegmentExpansion.Fault]) {
        let names = Set(filter.segments.map(\.name))
        guard !names.isEmpty else { return (filter.simplified, []) }
        let definitions = try await segments.definitions(of: names, in: app)
        return try await parsing(definitions.values.reduce(0) { $0 + $1.utf8.count }) {
            var expansion = SegmentExpansion(try definitions.mapValues(saved))
            return expansion.expand(filter)
        }
    }

    /// Whether a saved filter compares with ids of users. Those of segments that it names are missing.
    func namesUsers(_ text: String) throws -> Bool {
        let document = try JSONDocument(Array(text.utf8), depthMax: AudienceLimits.jsonDepthMax, refusesNull: true)
        return FilterReader(vocabulary: vocabulary).filter(document.root).namesUsers
    }

    /// Parses a saved filter. It was valid when it was saved, and its topics cannot be deleted.
    func saved(_ text: String) throws -> AudienceFilter {
        let document = try JSONDocument(Array(text.utf8), depthMax: AudienceLimits.jsonDepthMax, refusesNull: true)
        let filter = FilterReader(vocabulary: vocabulary).filter(document.root)
        guard document.faults.allSatisfy({ $0.code == .unknownTopic }) else {
            throw StoreError.failed("a segment's filter cannot be read")
        }
        // The topic is newer than the directory that this call has read.
        guard document.faults.isEmpty else { throw StoreError.unavailable }
        return filter
    }
}
