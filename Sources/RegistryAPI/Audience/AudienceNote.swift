import PushRegistry
import StrictJSON

/// What somebody who asks about an audience may have overlooked. The answer is right all the same.
struct AudienceNote {
    /// Where in the request: a JSON pointer (RFC 6901) into the body, or the name of a parameter.
    enum Place: Hashable {
        case pointer(String)
        case parameter(String)
    }

    let place: Place
    let code: String
    let detail: String
}

extension AudienceNote {
    /// A filter asks for an authorization, and the default of `include` leaves out most of its values.
    fileprivate static func excluded(at place: Place) -> AudienceNote {
        AudienceNote(
            place: place, code: "excluded-by-reachable",
            detail: "Without include only reachable installations count: of authorizationStatus these are authorized, "
                + "provisional and ephemeral, and unknown for providers other than APNs. Use include: active.")
    }

    fileprivate static func unknown(_ value: UnknownValue, at place: Place) -> AudienceNote {
        let hint = value.nearest.map { " Did you mean \($0)?" } ?? ""
        return AudienceNote(
            place: place, code: "unknown-value", detail: "No installation of the app has this value." + hint)
    }
}

extension AudienceNote {
    /// The notes on an answer.
    ///
    /// - Parameters:
    ///   - audience: with its segments put in.
    ///   - unknown: values of its filter.
    ///   - hasInclude: whether the request says who counts.
    ///   - places: finds the field and these values in the request, which is read again; most answers have no notes.
    static func notes(
        on audience: Audience, unknown: [UnknownValue], hasInclude: Bool, places: (Set<ComparedValue>) -> FilterPlaces
    ) -> [AudienceNote] {
        let isExcluding = !hasInclude && audience.filter.fields.contains(.authorizationStatus)
        guard isExcluding || !unknown.isEmpty else { return [] }
        let places = places(Set(unknown.map(\.compared)))
        let excluded = isExcluding ? [excluded(at: places.authorization ?? places.whole)] : []
        return excluded + unknown.map { .unknown($0, at: places.values[$0.compared] ?? places.whole) }
    }
}

/// Where a request names some values of its filter.
struct FilterPlaces {
    /// The filter with its segments: what comes from those has no place of its own.
    let whole: AudienceNote.Place
    /// The first condition on `authorizationStatus`.
    private(set) var authorization: AudienceNote.Place?
    private(set) var values: [ComparedValue: AudienceNote.Place] = [:]

    private let wanted: Set<ComparedValue>
    private let links: TimeZoneLinks

    private mutating func note(_ field: AudienceField, at place: @autoclosure () -> AudienceNote.Place) {
        if field == .authorizationStatus, authorization == nil { authorization = place() }
    }

    private mutating func note(
        _ text: String, of field: AudienceField, at place: @autoclosure () -> AudienceNote.Place
    ) {
        guard let value = try? field.value(text, links: links) else { return }
        let compared = ComparedValue(field, value)
        if wanted.contains(compared), values[compared] == nil { values[compared] = place() }
    }
}

// MARK: - Bodies

extension FilterPlaces {
    /// - Parameter body: that was found to be right.
    init(_ body: [UInt8], _ wanted: Set<ComparedValue>, links: TimeZoneLinks) {
        (self.wanted, self.links) = (wanted, links)
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

extension FilterPlaces {
    /// - Parameter items: the parameters, which were found to be right.
    init(_ items: [(name: String, value: String)], _ wanted: Set<ComparedValue>, links: TimeZoneLinks) {
        (self.wanted, self.links) = (wanted, links)
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
                    switch note.place {
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
