import Foundation

extension PushRegistryClient {
    /// A problem document of the registry (RFC 9457).
    ///
    /// The page Errors of the registry's documentation explains each `code`.
    public struct Problem: Sendable, Hashable, Codable {
        public var status: Int
        /// Stable, in kebab case: decide by it.
        public var code: String
        public var title: String?
        public var detail: String?
        /// Names the request in the registry's log.
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

    /// Why a call that reads, or stores something, failed.
    public enum Failure: Error, Sendable, Hashable {
        /// The installation has not been registered yet.
        case notRegistered
        /// The session ended elsewhere: sign the user out.
        case signedOutElsewhere
        /// The registry refuses the call.
        case refused(Problem)
        /// There was no response, or the registry is busy. Seconds, if the registry named them.
        case unavailable(retryAfter: TimeInterval?)
        /// Notifications were dropped, or belong to another epoch. Show what the app's own server has, and go on from
        /// `position`.
        case notificationsGone(position: NotificationPosition)
        /// The storage can neither be read nor written at present.
        case storageUnavailable
        /// A value is empty, too long or has forbidden characters.
        case invalidValue
    }
}
