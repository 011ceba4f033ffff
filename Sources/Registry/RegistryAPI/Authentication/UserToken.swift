import Basics
import PushRegistry
import StrictJSON

/// The content of a user's JWT (RFC 7519) whose signature has been verified.
struct UserToken: Sendable {
    /// User and session: `sub`, `sid` and the policy's claim for the session's expiry.
    let owner: Owner
    let issuedAt: Timestamp?
    let expiresAt: Timestamp?
    /// The `kid` of the key that verified the signature.
    let keyID: String?
}

/// Why a JWT was refused, for the audit log and the client. It never quotes the token.
enum UserTokenFault: String, Error, Sendable {
    case malformed, noKeys, unsupportedAlgorithm, unknownKey, ambiguousKey, badSignature
    // The signature is valid, the claims are not.
    case malformedClaims, missingExpiry, missingIssueTime
    case expired, notYetValid, wrongIssuer, wrongAudience, invalidUser, invalidSession

    /// The reason for the client; nil if the signature was not verified. Then the caller learns nothing about the app,
    /// not even whether it exists: all these faults have the text of an unknown key.
    var detail: String? {
        switch self {
        case .malformed, .noKeys, .unsupportedAlgorithm, .unknownKey, .ambiguousKey, .badSignature: nil
        case .malformedClaims: "The JWT's claims are not a JSON object, or one has the wrong type."
        case .missingExpiry: "The JWT has no exp: it would never expire."
        case .missingIssueTime: "The JWT has neither iat nor sid: no logout could end it."
        case .expired: "The JWT has expired."
        case .notYetValid: "The JWT is not valid yet."
        case .wrongIssuer: "The JWT's iss is not the jwtIssuer of the app's policy."
        case .wrongAudience: "The JWT's aud does not contain the jwtAudience of the app's policy."
        case .invalidUser: "The JWT's sub is not a valid user id."
        case .invalidSession: "The JWT's sid is not a valid session id."
        }
    }
}

/// The relevant claims of the payload. Times are NumericDates: seconds, optionally with decimals.
struct UserClaims {
    let issuer: ExactText?
    let audiences: [String]
    let expiresAt: Timestamp?
    let notBefore: Timestamp?
    let issuedAt: Timestamp?
    let owner: Owner

    /// The range that RFC 3339 can represent; a claim outside of it makes the JWT malformed.
    private static let seconds = 0.0...253_402_300_799.0
    private static let audiencesMax = 64

    init(_ payload: [UInt8], sessionExpiryClaim: ExactText?) throws(UserTokenFault) {
        guard let document = try? JSONDocument(payload), let claims = document.root.object() else {
            throw .malformedClaims
        }
        issuer = claims.string("iss", scalarsMax: Device.textScalarsMax).map { ExactText($0) }
        audiences = Self.audiences(claims)
        expiresAt = claims.value("exp").flatMap(Self.time)
        notBefore = claims.value("nbf").flatMap(Self.time)
        issuedAt = claims.value("iat").flatMap(Self.time)
        let user = claims.string("sub", scalarsMax: Device.textScalarsMax)
        let session = claims.string("sid", scalarsMax: Device.textScalarsMax)
        let sessionExpiry = sessionExpiryClaim.flatMap { name in
            claims.members.first { ExactText($0.name) == name }.flatMap { Self.time($0.value) }
        }
        guard document.faults.isEmpty else { throw .malformedClaims }
        owner = try Self.owner(user, session, sessionExpiry)
    }

    /// A single audience or a list (RFC 7519, section 4.1.3).
    private static func audiences(_ claims: JSONObject) -> [String] {
        guard let value = claims.value("aud") else { return [] }
        if value.kind == .string { return value.string(scalarsMax: Device.textScalarsMax).map { [$0] } ?? [] }
        return claims.strings("aud", elementsMax: audiencesMax, scalarsMax: Device.textScalarsMax) ?? []
    }

    private static func time(_ value: JSONValue) -> Timestamp? {
        value.double(in: seconds).map { Timestamp(microseconds: Int64($0 * 1_000_000)) }
    }

    private static func owner(
        _ user: String?, _ session: String?, _ expiresAt: Timestamp?
    ) throws(UserTokenFault) -> Owner {
        guard let userID = user.flatMap({ try? UserID($0) }) else { throw .invalidUser }
        guard let session else { return Owner(userID: userID) }
        guard let sessionID = try? SessionID(session) else { throw .invalidSession }
        return Owner(userID: userID, session: Owner.Session(id: sessionID, expiresAt: expiresAt))
    }
}
