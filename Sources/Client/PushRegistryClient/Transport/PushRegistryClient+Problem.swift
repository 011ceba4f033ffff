import Foundation

extension PushRegistryClient {
    /// A problem document of the registry (RFC 9457).
    ///
    /// The page Errors of the registry's documentation explains each `code`.
    public struct Problem: Sendable, Hashable, Codable {
        public var status: Int
        /// A stable code in kebab case. Programs decide by it.
        public var code: String
        public var title: String?
        public var detail: String?
        /// The id of the request in the registry's log.
        public var requestId: String?
        /// The faults of the body, each with a JSON pointer.
        public var errors: [Fault]?

        public struct Fault: Sendable, Hashable, Codable {
            public var pointer: String?
            public var parameter: String?
            public var code: String
            public var detail: String?
        }

        public init(status: Int, code: String, title: String? = nil, detail: String? = nil) {
            self.status = status
            self.code = code
            self.title = title
            self.detail = detail
        }
    }

    /// Why a call that reads from the registry, or stores a value, failed.
    public enum Failure: Error, Sendable, Hashable {
        /// The installation has not been registered yet.
        case notRegistered
        /// The session ended elsewhere: sign the user out.
        case signedOutElsewhere
        /// The registry refuses the call.
        case refused(Problem)
        /// There was no response, or the registry is busy. `retryAfter` has the seconds of `Retry-After`.
        case unavailable(retryAfter: TimeInterval?)
        /// Notifications were dropped, or the epoch has ended. Load the content from the app's own server, and continue
        /// from `position`.
        case notificationsGone(position: NotificationPosition)
        /// The storage cannot be read or written now.
        case storageUnavailable
        /// A value is empty, too long or has forbidden characters.
        case invalidValue
    }
}
