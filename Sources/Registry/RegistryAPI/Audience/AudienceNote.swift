import PushRegistry
import StrictJSON

/// A hint in a count or breakdown: something that the caller may have overlooked. The counts are correct.
struct AudienceNote {
    /// The part of the request: a JSON pointer (RFC 6901) into the body, or the name of a parameter.
    enum Location: Hashable {
        case pointer(String)
        case parameter(String)
    }

    let location: Location
    let code: String
    let detail: String
}

extension AudienceNote {
    /// The filter has a condition on the authorization, and the default of `include` excludes most of its values.
    fileprivate static func excluded(at location: Location) -> AudienceNote {
        AudienceNote(
            location: location, code: "excluded-by-reachable",
            detail: "Without include, only reachable installations count: of authorizationStatus these are authorized, "
                + "provisional and ephemeral, and unknown for providers other than APNs. Use include: active.")
    }

    fileprivate static func unknown(_ value: UnknownValue, at location: Location) -> AudienceNote {
        let hint = value.nearest.map { " Did you mean \($0)?" } ?? ""
        return AudienceNote(
            location: location, code: "unknown-value", detail: "No installation of the app has this value." + hint)
    }
}

extension AudienceNote {
    /// The notes on a count or breakdown.
    ///
    /// - Parameters:
    ///   - audience: with its segments expanded.
    ///   - unknown: the values of its filter that no installation has.
    ///   - hasInclude: whether the request has `include`.
    ///   - locate: parses the request again and finds these values. Only called if there are notes, which is rare.
    static func notes(
        on audience: Audience, unknown: [UnknownValue], hasInclude: Bool,
        locate: (Set<ComparedValue>) async throws -> FilterLocations
    ) async rethrows -> [AudienceNote] {
        let isExcluding = !hasInclude && audience.filter.fields.contains(.authorizationStatus)
        guard isExcluding || !unknown.isEmpty else { return [] }
        let locations = try await locate(Set(unknown.map(\.compared)))
        let excluded = isExcluding ? [excluded(at: locations.authorization ?? locations.whole)] : []
        return excluded + unknown.map { .unknown($0, at: locations.values[$0.compared] ?? locations.whole) }
    }
}

/// The locations of some values of the filter in a request.
struct FilterLocations {
    /// The whole filter: the location of values that come from segments.
    let whole: AudienceNote.Location
    /// The first condition on `authorizationStatus`.
    private(set) var authorization: AudienceNote.Location?
    private(set) var values: [ComparedValue: AudienceNote.Location] = [:]

    private let wanted: Set<ComparedValue>
    private let vocabulary: FilterVocabulary

    private mutating func note(_ field: AudienceField, at location: @autoclosure () -> AudienceNote.Location) {
        if field == .authorizationStatus, authorization == nil { authorization = location() }
    }

    private mutating func note(
        _ text: String, of field: AudienceField, at location: @autoclosure () -> AudienceNote.Location
    ) {
        guard let value = try? field.value(text, in: vocabulary) else { return }
        let compared = ComparedValue(field, value)
        if wanted.contains(compared), values[compared] == nil { values[compared] = location() }
    }
}

// MARK: - Bodies

extension FilterLocations {
    /// - Parameter body: a valid body.
    init(_ body: [UInt8], _ wanted: Set<ComparedValue>, in vocabulary: FilterVocabulary) {
        (self.wanted, self.vocabulary) = (wanted, vocabulary)
        whole = .pointer("/filter")
        let document = try? JSONDocument(body, depthMax: AudienceLimits.jsonDepthMax)
        if let filter = document?.root.object()?.value("filter") { read(filter) }
    }

    private mutating func read(_ filter: JSONValue) {
        for member in filter.object()?.members ?? [] {
            switch member.name {
            case "all", "any":
                for part in member.value.array(elementsMax: .max)?.map(\.self) ?? [] { read(part) }
            case "not": read(member.value)
            default:
                guard let field = AudienceField(rawValue: member.name) else { continue }
                note(field, at: .pointer(member.value.pointer))
                read(member.value, of: field)
            }
        }
    }

    private mutating func read(_ condition: JSONValue, of field: AudienceField) {
        switch condition.kind {
        case .string:
            if let text = condition.text() { note(text, of: field, at: .pointer(condition.pointer)) }
        case .array:
            for element in condition.array(elementsMax: .max)?.map(\.self) ?? [] { read(element, of: field) }
        case .object:
            for member in condition.object()?.members ?? [] where ["eq", "ne", "in", "nin"].contains(member.name) {
                read(member.value, of: field)
            }
        default: return
        }
    }
}

// MARK: - Queries

extension FilterLocations {
    /// - Parameter items: valid parameters.
    init(_ items: [(name: String, value: String)], _ wanted: Set<ComparedValue>, in vocabulary: FilterVocabulary) {
        (self.wanted, self.vocabulary) = (wanted, vocabulary)
        whole = .parameter("segment")
        for item in items {
            let parts = item.name.split(separator: ".", maxSplits: 1).map(String.init)
            guard let field = parts.first.flatMap(AudienceField.init) else { continue }
            note(field, at: .parameter(item.name))
            let isList = ["in", "nin"].contains(parts.last)
            for text in isList ? FilterQuery.elements(item.value) : [item.value] {
                note(text, of: field, at: .parameter(item.name))
            }
        }
    }
}

extension JSONWriter {
    /// `notes`, if there are any.
    mutating func member(_ notes: [AudienceNote]) {
        guard !notes.isEmpty else { return }
        name("notes")
        array { writer in
            for note in notes {
                writer.object { writer in
                    switch note.location {
                    case .pointer(let pointer): writer.member("pointer", pointer)
                    case .parameter(let name): writer.member("parameter", name)
                    }
                    writer.member("code", note.code)
                    writer.member("detail", note.detail)
                }
            }
        }
    }
}
