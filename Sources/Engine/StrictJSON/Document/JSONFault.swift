/// One fault of a JSON text, described for the sender, who must fix it.
///
/// A detail describes what is expected and never quotes the input: bodies contain secrets.
public struct JSONFault: Hashable, Sendable {
    /// The location: a JSON pointer (RFC 6901) from the root of the text; `""` is the text itself.
    public let pointer: String
    /// The kind of fault, for programs: stable, kebab-case.
    public let code: Code
    /// One sentence for people.
    public let detail: String
    /// The byte at which parsing stopped; only if the text is not JSON at all.
    public let offset: Int?

    /// - Parameter detail: must not quote the input.
    public init(pointer: String, code: Code, detail: String, offset: Int? = nil) {
        self.pointer = pointer
        self.code = code
        self.detail = detail
        self.offset = offset
    }

    /// A stable name for a kind of fault. Extend it for fields with their own rules.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// Kebab-case; part of the API, so it must not change.
        public let rawValue: String

        /// Checks nothing.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }
    }
}

extension JSONFault.Code {
    /// Not JSON by RFC 8259: bad syntax, bad UTF-8, a byte order mark, text after the value.
    public static let malformed = JSONFault.Code(rawValue: "malformed-json")
    /// Containers nested beyond the reader's limit.
    public static let tooDeep = JSONFault.Code(rawValue: "too-deep")
    /// A text beyond the 4 GiB that the tape can address.
    public static let tooLarge = JSONFault.Code(rawValue: "too-large")
    /// A name that occurs twice in one object.
    public static let duplicateMember = JSONFault.Code(rawValue: "duplicate-member")
    /// An escaped UTF-16 surrogate without its other half.
    public static let loneSurrogate = JSONFault.Code(rawValue: "lone-surrogate")
    /// U+0000, which PostgreSQL's text cannot hold.
    public static let nulCharacter = JSONFault.Code(rawValue: "nul-character")
    /// A `null` where the reader refuses it.
    public static let null = JSONFault.Code(rawValue: "null")
    /// An unknown member, if the reader refuses those.
    public static let unknownMember = JSONFault.Code(rawValue: "unknown-member")
    /// A required member that is absent or `null`.
    public static let required = JSONFault.Code(rawValue: "required")
    /// Another JSON type than expected.
    public static let wrongType = JSONFault.Code(rawValue: "wrong-type")
    /// A string with more Unicode scalars than allowed.
    public static let tooLong = JSONFault.Code(rawValue: "too-long")
    /// An array with more elements than allowed.
    public static let tooMany = JSONFault.Code(rawValue: "too-many")
    /// A number outside its range.
    public static let outOfRange = JSONFault.Code(rawValue: "out-of-range")
    /// A number with a fraction where an integer is expected.
    public static let notAnInteger = JSONFault.Code(rawValue: "not-an-integer")
}

/// All faults of one text, in the order of their discovery; never empty when thrown.
public struct JSONFaults: Error, Hashable, Sendable {
    /// At most 100 from one `JSONDocument`. Exactly one, with an offset, if the text could not be parsed.
    public let faults: [JSONFault]

    /// - Parameter faults: not empty.
    public init(_ faults: [JSONFault]) {
        self.faults = faults
    }
}
