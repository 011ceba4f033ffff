import PushRegistry
import StrictJSON

/// Queries audiences in the terms of the API, for the command line, which reads the database directly.
public struct AudienceConsole: Sendable {
    /// The faults of a text of the command line, one line each.
    public struct Refusal: Error, CustomStringConvertible {
        public let lines: [String]

        public var description: String { lines.joined(separator: "\n") }
    }

    /// The format and columns of an export.
    public struct Export: Sendable {
        public let format: ExportFormat
        let encoder: ExportEncoder
    }

    private let app: App
    private let audiences: any AudienceStore
    private let resolver: FilterResolver

    public init(app: App, audiences: any AudienceStore, segments: any SegmentStore, links: TimeZoneLinks) {
        (self.app, self.audiences) = (app, audiences)
        resolver = FilterResolver(
            segments: segments, vocabulary: FilterVocabulary(links: links, topics: app.topics))
    }

    /// - Parameters:
    ///   - filter: the JSON of the API.
    ///   - segments: names. An installation must be in all of these segments.
    /// - Throws: `Refusal`, `StoreError`.
    public func audience(
        filter: String, segments: [String], include: AudienceInclude
    ) async throws -> Audience {
        var parts = [try parsed(filter)]
        for name in segments {
            do throws(InvalidValue) {
                parts.append(.segment(SegmentReference(name: try SegmentName(name), pointer: name)))
            } catch {
                throw Refusal(lines: ["\(name): \(error.detail)"])
            }
        }
        let (whole, faults) = try await resolver.expanded(.all(parts), in: app.number)
        guard faults.isEmpty else {
            throw Refusal(lines: faults.map(JSONFault.init).map { "\($0.pointer): \($0.detail)" })
        }
        return Audience(whole, include: include, of: app)
    }

    private func parsed(_ filter: String) throws -> AudienceFilter {
        let body = Array(#"{"filter":"#.utf8) + Array(filter.utf8) + [UInt8(ascii: "}")]
        do {
            return try AudienceBody.parse(body, in: resolver.vocabulary) { _ in () }.filter
        } catch let error as JSONFaults {
            throw Refusal(lines: error.faults.map { "\($0.pointer.isEmpty ? "filter" : $0.pointer): \($0.detail)" })
        }
    }

    /// - Throws: `Refusal` for a name that is not a field, or not a discrete one.
    public func fields(_ names: [String]) throws -> [AudienceField] {
        let fields = names.compactMap { AudienceField(rawValue: $0) }.filter(\.isDiscrete)
        guard fields.count == names.count, Set(fields).count == fields.count,
            (1...BreakdownOptions.fieldsMax).contains(fields.count)
        else {
            let known = AudienceField.allCases.filter(\.isDiscrete).map(\.rawValue).joined(separator: ", ")
            throw Refusal(lines: ["Name 1 to \(BreakdownOptions.fieldsMax) different fields of \(known)."])
        }
        return fields
    }

    /// The objects that the API responds with, without notes.
    package static func json(_ count: AudienceCount) -> JSONWriter { JSONWriter(count, []) }

    package static func json(_ breakdown: AudienceBreakdown, by fields: [AudienceField]) -> JSONWriter {
        JSONWriter(breakdown, by: fields, [])
    }

    public func count(_ audience: Audience) async throws -> AudienceCount {
        try await audiences.count(audience, explains: true)
    }

    public func breakDown(_ audience: Audience, by fields: [AudienceField], limit: Int) async throws
        -> AudienceBreakdown
    {
        try await audiences.breakDown(audience, by: fields, limit: limit, explains: false)
    }

    /// - Parameter fields: names of the API; by default those that a sender gets.
    /// - Throws: `Refusal` for a name that is not a field.
    public func makeExport(_ fields: [String]?, as format: ExportFormat) throws -> Export {
        let known = fields?.compactMap(ExportField.init).filter { $0 != .id && !$0.isOfTypedTokens }
        guard known?.count == fields?.count, known.map({ Set($0).count == $0.count && !$0.isEmpty }) ?? true,
            format == .ndjson || known?.contains(.keys) != true
        else {
            throw Refusal(lines: [
                "Fields are installId, provider, token, keys (in CSV p256dh and auth), generation, userId, sessionId, "
                    + "sessionExpiresAt, keychainId, vendorId, preferredLanguages, cursor and those of filters."
            ])
        }
        return Export(
            format: format,
            encoder: ExportEncoder(
                known ?? ExportField.standard(sender: true, format), format, .open(app.number)))
    }

    /// Passes the export to `write` in chunks, each with the number of rows so far.
    ///
    /// - Parameter cursor: the cursor of the last row of an interrupted export.
    public func run(
        _ export: Export, of audience: Audience, after cursor: String?,
        _ write: ([UInt8], Int) async throws -> Void
    ) async throws {
        guard let position = InstallationNames.open(app.number).position(after: cursor) else {
            throw Refusal(lines: ["\(cursor ?? "") is not a cursor of this app's exports."])
        }
        var count = 0
        try await write(export.encoder.header, 0)
        try await audiences.export(audience, export.encoder.columns, from: position) { rows in
            count += rows.count
            try await write(try export.encoder.encode(rows), count)
        }
    }
}
