import PushRegistry
import StrictJSON

/// The body of an audience call: `{filter, include?, kind?, name?, explain?}` and the call's own members.
struct AudienceBody<Options: Sendable>: Sendable {
    /// Its segments are not expanded yet.
    let filter: AudienceFilter
    let include: AudienceInclude
    /// Whether the body has `include`.
    let hasInclude: Bool
    /// Nil: the main tokens.
    let tokens: HandedOutTokens?
    let explains: Bool
    let options: Options
    /// Pointers into the body.
    let locations: FilterLocations

    /// - Parameters:
    ///   - members: the names of the call's own members, with `kind`, `name` and `explain` if the call supports them.
    ///   - read: reads these members. Nil, or a fault that it adds, makes the body invalid.
    /// - Throws: every fault of the body. An unknown member is a fault.
    static func parse(
        _ body: [UInt8], in vocabulary: FilterVocabulary, members: [StaticString] = [],
        _ read: (JSONObject) throws -> Options?
    ) throws -> AudienceBody {
        let document = try JSONDocument(body, depthMax: AudienceLimits.jsonDepthMax, refusesNull: true)
        guard let root = document.root.object() else { throw JSONFaults(document.faults) }
        root.refuseUnknownMembers(besides: ["filter", "include"] + members)
        let reader = FilterReader(vocabulary: vocabulary)
        let filter = root.required("filter").map { reader.filter($0) }
        let include = root.include()
        let tokens = root.handedOutTokens()
        let explains = root.boolean("explain") ?? false
        let options = try read(root)
        try document.check()
        guard let filter, let options else { throw StoreError.failed("an audience body lacks a value and a fault") }
        return AudienceBody(
            filter: filter, include: include, hasInclude: root.value("include") != nil, tokens: tokens,
            explains: explains, options: options, locations: reader.locations)
    }
}

enum AudienceLimits {
    /// A filter of 10,000 ids of users with 128 characters each fits, with 1,000 texts of 256 characters.
    static let bodyBytesMax = 2 * 1024 * 1024
    /// A list of 1,000 segments stays below 256 MiB.
    static let segmentBytesMax = 256 * 1024
    static let jsonDepthMax = 32
}

extension JSONObject {
    /// A required member. For `null`, the document has already added a fault.
    func required(_ name: StaticString) -> JSONValue? {
        if let value = value(name) { return value }
        let isNull = members.contains { $0.name == name.description }
        if !isNull { refuse(member: name, .required, "This member is required.") }
        return nil
    }

    /// `reachable` by default.
    fileprivate func include() -> AudienceInclude {
        guard let value = value("include"), let name = value.text() else { return .reachable }
        guard let include = AudienceInclude(rawValue: name) else {
            value.refuse(.unknownValue, AudienceInclude.expected)
            return .reachable
        }
        return include
    }

    /// `kind` and `name`. Nil without a kind, and after a fault.
    fileprivate func handedOutTokens() -> HandedOutTokens? {
        guard let kind = tokenKind() else {
            if value("kind") == nil { refuseNameWithoutKind() }
            return nil
        }
        guard value("name") != nil else { return HandedOutTokens(kind, name: nil) }
        return tokenName(of: kind).map { HandedOutTokens(kind, name: $0) }
    }

    /// The optional page size.
    func limit(_ standard: Int = PageLimits.standard) -> Int? {
        guard value("limit") != nil else { return standard }
        let allowed = Int64(PageLimits.allowed.lowerBound)...Int64(PageLimits.allowed.upperBound)
        return integer("limit", in: allowed).map { Int($0) }
    }
}

extension AudienceInclude {
    static var expected: String { "This must be one of \(allCases.map(\.rawValue).joined(separator: ", "))." }
}
