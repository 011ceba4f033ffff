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
    /// The call filters or groups by the authorization, and the default of `include` excludes most of its values.
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

    /// The notes on a count or breakdown.
    ///
    /// - Parameters:
    ///   - audience: with its segments expanded.
    ///   - unknown: the values of its filter that no installation has.
    ///   - fields: those by which a breakdown groups.
    ///   - locate: the part of the request that a pointer into `body` means. That to the whole filter stands for the
    ///     filters of segments.
    static func notes<Options>(
        on audience: Audience, of body: AudienceBody<Options>, unknown: [UnknownValue], by fields: [AudienceField] = [],
        locate: (String) -> Location = { .pointer($0) }
    ) -> [AudienceNote] {
        let (locations, whole) = (body.locations, "/filter")
        let group = fields.firstIndex(of: .authorizationStatus).map { "/by/\($0)" }
        let isExcluding =
            !body.hasInclude && audience.tokens?.kind.requiresAuthorization ?? true
            && (group != nil || audience.filter.fields.contains(.authorizationStatus))
        let excluded = isExcluding ? [excluded(at: locate(locations.authorization ?? group ?? whole))] : []
        return excluded
            + unknown.map { value in
                let pointer = locations.values.first { $0.0 == value.compared }?.1
                return .unknown(value, at: locate(pointer ?? whole))
            }
    }
}

extension JSONWriter {
    /// `notes`, if there are any.
    mutating func member(_ notes: [AudienceNote]) {
        guard !notes.isEmpty else { return }
        objects("notes", notes) { writer, note in
            switch note.location {
            case .pointer(let pointer): writer.member("pointer", pointer)
            case .parameter(let name): writer.member("parameter", name)
            }
            writer.member("code", note.code)
            writer.member("detail", note.detail)
        }
    }
}
