import PushRegistry
import StrictJSON

/// What a user's JWT (RFC 7519) says, once its signature has been verified.
struct UserToken: Sendable {
    /// The user and the session: `sub`, `sid` and the claim that the policy names for the session's expiry.
    let owner: Owner
    let issuedAt: Timestamp?
    /// The `kid` of the key that signed it, as the app's policy has it.
    let keyID: String?
}

/// Why a JWT proves nobody. It goes to the audit log and, as a sentence, to the client; it quotes nothing of the token.
enum UserTokenFault: String, Error, Sendable {
    case malformed, noKeys, unsupportedAlgorithm, unknownKey, ambiguousKey, badSignature, missingExpiry
    case missingIssueTime
    case expired, notYetValid, wrongIssuer, wrongAudience, invalidUser, invalidSession

    var detail: String {
        switch self {
        case .malformed: "This is neither a key nor a JWT of the compact form."
        case .noKeys: "The app's policy has no keys for users' JWTs."
        case .unsupportedAlgorithm: "A JWT must be signed with HS256, RS256 or ES256."
        case .unknownKey: "The app's policy has no key that fits the JWT's kid and alg."
        case .ambiguousKey:
            "The JWT names no kid, and the app's policy has more than \(UserTokenKeys.candidatesMax) keys of its alg."
        case .missingExpiry: "The JWT lacks exp: it would be good for ever."
        case .missingIssueTime: "The JWT lacks iat or sid: no logout could end it."
        case .badSignature: "The JWT's signature does not fit."
        case .expired: "The JWT has expired."
        case .notYetValid: "The JWT is not valid yet."
        case .wrongIssuer: "The JWT is of another issuer than the app's policy names."
        case .wrongAudience: "The JWT is for another audience than the app's policy names."
        case .invalidUser: "The JWT's sub is no user id."
        case .invalidSession: "The JWT's sid is no session id."
        }
    }
}

/// The claims that count, read from the payload. Times are NumericDates: seconds, with decimals or without.
struct UserClaims {
    let issuer: String?
    let audiences: [String]
    let expiresAt: Timestamp?
    let notBefore: Timestamp?
    let issuedAt: Timestamp?
    let owner: Owner

    /// RFC 3339 can write no time beyond; what a claim says beyond it is no time.
    private static let seconds = 0.0...253_402_300_799.0
    private static let audiencesMax = 64

    init(_ payload: [UInt8], sessionExpiryClaim: String?) throws(UserTokenFault) {
        guard let document = try? JSONDocument(payload), let claims = document.root.object() else { throw .malformed }
        issuer = claims.string("iss", scalarsMax: Device.textScalarsMax)
        audiences = Self.audiences(claims)
        expiresAt = claims.value("exp").flatMap(Self.time)
        notBefore = claims.value("nbf").flatMap(Self.time)
        issuedAt = claims.value("iat").flatMap(Self.time)
        let user = claims.string("sub", scalarsMax: Device.textScalarsMax)
        let session = claims.string("sid", scalarsMax: Device.textScalarsMax)
        let sessionExpiry = sessionExpiryClaim.flatMap { name in
            claims.members.first { $0.name == name }.flatMap { Self.time($0.value) }
        }
        guard document.faults.isEmpty else { throw .malformed }
        owner = try Self.owner(user, session, sessionExpiry)
    }

    /// One audience, or a list of them (RFC 7519, section 4.1.3).
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
