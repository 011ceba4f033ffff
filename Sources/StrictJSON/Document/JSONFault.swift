/// One fault of a JSON text, described for the sender, who has to fix it.
///
/// A detail says what is expected and never quotes what was sent: bodies carry secrets.
public struct JSONFault: Hashable, Sendable {
    /// Where: a JSON pointer (RFC 6901) from the root of the text, `""` being the text itself.
    public let pointer: String
    /// What, for programs: stable, kebab-case.
    public let code: Code
    /// What, for people.
    public let detail: String
    /// The byte at which reading stopped; only for a text that is not JSON at all.
    public let offset: Int?

    public init(pointer: String, code: Code, detail: String, offset: Int? = nil) {
        self.pointer = pointer
        self.code = code
        self.detail = detail
        self.offset = offset
    }

    /// A stable name for a kind of fault; extend it where a field has rules of its own.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

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
    /// A member that nobody knows, where the reader refuses those.
    public static let unknownMember = JSONFault.Code(rawValue: "unknown-member")
    /// A required member that is absent or `null`.
    public static let required = JSONFault.Code(rawValue: "required")
    /// Another JSON type than the expected one.
    public static let wrongType = JSONFault.Code(rawValue: "wrong-type")
    /// A string of more Unicode scalars than allowed.
    public static let tooLong = JSONFault.Code(rawValue: "too-long")
    /// An array of more elements than allowed.
    public static let tooMany = JSONFault.Code(rawValue: "too-many")
    /// A number outside of its range.
    public static let outOfRange = JSONFault.Code(rawValue: "out-of-range")
    /// A number with a fraction where an integer is expected.
    public static let notAnInteger = JSONFault.Code(rawValue: "not-an-integer")
}

/// Every fault of one text, in the order they were met; never empty when thrown.
public struct JSONFaults: Error, Hashable, Sendable {
    public let faults: [JSONFault]

    public init(_ faults: [JSONFault]) {
        self.faults = faults
    }
}
