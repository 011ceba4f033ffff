/// One app, such as `com.example.mail`: 1 to 128 of `A-Z a-z 0-9 . _ -`, upper and lower case being different. Not `.`
/// and `..`, which clients and proxies take out of a path.
public struct AppID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-app-id`.
    public init(_ text: String) throws(InvalidValue) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed), ![".", ".."].contains(text)
        else {
            throw InvalidValue(
                code: "invalid-app-id",
                detail: "An app is 1 to 128 letters, digits, points, underscores or hyphens, and neither . nor ..")
        }
        rawValue = text
    }

    public var description: String { rawValue }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default:
            false
        }
    }
}

/// One install of an app on one device, named by the client: 1 to 128 visible ASCII characters, compared exactly.
public struct InstallID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-install-id`.
    public init(_ text: String) throws(InvalidValue) {
        rawValue = try VisibleASCII.identifier(text, code: "invalid-install-id")
    }

    public var description: String { rawValue }
}

/// One user of an app, named by its back end: 1 to 128 visible ASCII characters, compared exactly.
public struct UserID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-user-id`.
    public init(_ text: String) throws(InvalidValue) {
        rawValue = try VisibleASCII.identifier(text, code: "invalid-user-id")
    }

    public var description: String { rawValue }
}

/// One sign-in session of a user, named by the app's back end: 1 to 128 visible ASCII characters, compared exactly.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-session-id`.
    public init(_ text: String) throws(InvalidValue) {
        rawValue = try VisibleASCII.identifier(text, code: "invalid-session-id")
    }

    public var description: String { rawValue }
}

/// The characters 0x21 to 0x7E: what is left of ASCII without space and controls.
enum VisibleASCII {
    static func identifier(_ text: String, code: String) throws(InvalidValue) -> String {
        guard (1...128).contains(text.utf8.count), contains(text) else {
            throw InvalidValue(code: code, detail: "This must be 1 to 128 visible ASCII characters.")
        }
        return text
    }

    static func contains(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 &- 0x21 < 0x5E }
    }
}
