/// The public name of an app, such as `com.example.mail`: 1 to 128 characters of `A-Z a-z 0-9 . _ -`, case-sensitive.
/// `.` and `..` are not allowed: clients and proxies remove them from a path.
public struct AppID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-app-id`.
    public init(_ text: String) throws(InvalidValue) {
        guard ASCII.isName(text, charactersMax: 128) else {
            throw InvalidValue(
                code: "invalid-app-id",
                detail: "An app id is 1 to 128 characters of A-Z a-z 0-9 . _ - and neither . nor ..")
        }
        rawValue = text
    }

    public var description: String { rawValue }
}

/// The id of one install of an app on one device. The client chooses it: 1 to 128 visible ASCII characters, neither `.`
/// nor `..`, compared exactly.
public struct InstallID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-install-id`.
    public init(_ text: String) throws(InvalidValue) {
        rawValue = try VisibleASCII.identifier(text, code: "invalid-install-id")
    }

    public var description: String { rawValue }
}

/// The id of a user of an app. The app's back end chooses it: 1 to 128 visible ASCII characters, neither `.` nor `..`,
/// compared exactly.
public struct UserID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-user-id`.
    public init(_ text: String) throws(InvalidValue) {
        rawValue = try VisibleASCII.identifier(text, code: "invalid-user-id")
    }

    public var description: String { rawValue }
}

/// The id of a sign-in session of a user. The app's back end chooses it: 1 to 128 visible ASCII characters, neither `.`
/// nor `..`, compared exactly.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-session-id`.
    public init(_ text: String) throws(InvalidValue) {
        rawValue = try VisibleASCII.identifier(text, code: "invalid-session-id")
    }

    public var description: String { rawValue }
}

/// The store's number of an app. The public name is `AppID`.
public struct AppNumber: Hashable, Comparable, Sendable {
    public let rawValue: Int32

    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    public static func < (left: AppNumber, right: AppNumber) -> Bool { left.rawValue < right.rawValue }
}

/// The identity of an installation. Installations are locked in the order of their keys.
public struct InstallationKey: Hashable, Comparable, Sendable {
    public let app: AppNumber
    public let installID: InstallID

    public init(app: AppNumber, installID: InstallID) {
        (self.app, self.installID) = (app, installID)
    }

    public static func < (left: InstallationKey, right: InstallationKey) -> Bool {
        left.app == right.app ? left.installID.rawValue < right.installID.rawValue : left.app < right.app
    }
}
