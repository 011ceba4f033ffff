import Basics
import PushRegistry
import StrictJSON

/// Verifies users' JWTs (RFC 7519, RFC 7515) by the keys of one policy, on the event loop and without I/O.
///
/// The cost is bounded: a JWT has at most `bytesMax`, and at most `UserTokenKeys.candidatesMax` keys are tried.
/// Measured CPU per request in addition to that of an API key, on a busy machine with 2 cores: 26 µs for HS256, 55 µs
/// for RS256 with 2,048 bits, 105 µs for ES256. Results are not cached: a client calls about once during the life of a
/// JWT.
struct UserTokenVerifier: Sendable {
    /// Longer JWTs are not parsed.
    static let bytesMax = 8 * 1024

    let keys: UserTokenKeys
    let policy: AppPolicy
    var bytesMax = Self.bytesMax

    /// - Parameter lateness: how long after its expiry a JWT is still accepted, for calls that were queued offline.
    func verify(
        _ token: String, at now: Timestamp, lateness: ISO8601Duration = ISO8601Duration(seconds: 0)
    ) throws(UserTokenFault) -> UserToken {
        guard !keys.isEmpty else { throw .noKeys }
        let parts = try UserTokenParts(token, bytesMax: bytesMax)
        let key = try signer(of: parts)
        let claims = try UserClaims(parts.payload, sessionExpiryClaim: policy.sessionExpiryClaim)
        try check(claims, at: now, lateness: lateness)
        return UserToken(
            owner: claims.owner, issuedAt: claims.issuedAt, expiresAt: claims.expiresAt, keyID: key.id?.text)
    }

    /// The key that verifies the signature. The header only selects among the keys of its algorithm; it does not
    /// determine how a key is used.
    private func signer(of parts: UserTokenParts) throws(UserTokenFault) -> UserTokenKeys.Key {
        let header = try UserTokenHeader(parts.header)
        let candidates = keys.keys(id: header.keyID, algorithm: header.algorithm)
        guard !candidates.isEmpty else { throw .unknownKey }
        guard candidates.count <= UserTokenKeys.candidatesMax else { throw .ambiguousKey }
        for key in candidates where key.hasSigned(parts.signingInput, parts.signature) { return key }
        throw .badSignature
    }

    /// Whether another key could verify a refused JWT: its `kid` is unknown, or it has none.
    func mayNeedAnotherKey(_ token: String, refusedFor fault: UserTokenFault) -> Bool {
        guard [.noKeys, .unknownKey, .badSignature].contains(fault),
            let header = (try? UserTokenParts(token, bytesMax: bytesMax)).flatMap({ try? UserTokenHeader($0.header) })
        else { return false }
        return header.keyID.map { !keys.hasKey(id: $0) } ?? true
    }

    private func check(_ claims: UserClaims, at now: Timestamp, lateness: ISO8601Duration) throws(UserTokenFault) {
        let leeway = UserCredential.leeway
        if !policy.allowsIncompleteTokens {
            guard claims.expiresAt != nil else { throw .missingExpiry }
            guard claims.issuedAt != nil || claims.owner.session != nil else { throw .missingIssueTime }
        }
        if let issuer = policy.jwtIssuer, claims.issuer != issuer { throw .wrongIssuer }
        if let audience = policy.jwtAudience, !claims.audiences.contains(where: { ExactText($0) == audience }) {
            throw .wrongAudience
        }
        if let notBefore = claims.notBefore, now < notBefore.preceding(by: leeway) { throw .notYetValid }
        // A JWT from the future would survive the logouts before its `iat`.
        if let issuedAt = claims.issuedAt, now < issuedAt.preceding(by: leeway) { throw .notYetValid }
        if let expiresAt = claims.expiresAt, now >= expiresAt.advanced(by: leeway).advanced(by: lateness) {
            throw .expired
        }
    }
}

/// The three parts of the compact form (RFC 7515, section 3.1), decoded.
struct UserTokenParts {
    let header: [UInt8]
    let payload: [UInt8]
    let signature: [UInt8]
    /// The signed text: the first two parts, not decoded.
    let signingInput: [UInt8]

    init(_ token: String, bytesMax: Int) throws(UserTokenFault) {
        guard token.utf8.count <= bytesMax else { throw .malformed }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL(String(parts[0])), let payload = Base64URL(String(parts[1])),
            let signature = Base64URL(String(parts[2]))
        else { throw .malformed }
        self.header = header.bytes
        self.payload = payload.bytes
        self.signature = signature.bytes
        signingInput = Array(token.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
    }
}

/// The relevant members of the header. A JWT with `crit` is refused: no extension is supported.
private struct UserTokenHeader {
    let algorithm: UserTokenKeys.Algorithm
    let keyID: ExactText?

    init(_ bytes: [UInt8]) throws(UserTokenFault) {
        guard let document = try? JSONDocument(bytes), let header = document.root.object() else { throw .malformed }
        let name = header.string("alg", .required, scalarsMax: Device.textScalarsMax)
        keyID = header.string("kid", scalarsMax: Device.textScalarsMax).map { ExactText($0) }
        guard document.faults.isEmpty, header.value("crit") == nil else { throw .malformed }
        guard let algorithm = name.flatMap(UserTokenKeys.Algorithm.init) else { throw .unsupportedAlgorithm }
        self.algorithm = algorithm
    }
}

/// Caches a verifier for each app, so that the keys of a policy are parsed once and not at each call.
final class UserTokenCache: Sendable {
    private struct Entry {
        let verifier: UserTokenVerifier
        /// When the identity provider's keys of the verifier were fetched.
        let fetchedAt: ContinuousClock.Instant?
    }

    private let entries = Locked<[AppNumber: Entry]>([:])

    /// - Parameter published: the keys of the app's identity provider.
    func verifier(of app: App, published: ProviderKeys.Current?) -> UserTokenVerifier {
        if let known = entries.withLock({ $0[app.number] }), known.fetchedAt == published?.fetchedAt,
            known.verifier.policy.hasKeysAndClaims(of: app.policy)
        {
            return known.verifier
        }
        let keys = UserTokenKeys(app.policy.jwks?.text, and: published?.keys ?? [])
        let verifier = UserTokenVerifier(keys: keys, policy: app.policy)
        entries.withLock { $0[app.number] = Entry(verifier: verifier, fetchedAt: published?.fetchedAt) }
        return verifier
    }
}

extension AppPolicy {
    /// Cheap until the policy changes: comparing a text with itself compares pointers.
    fileprivate func hasKeysAndClaims(of other: AppPolicy) -> Bool {
        jwks == other.jwks && jwksURL == other.jwksURL && jwtIssuer == other.jwtIssuer
            && jwtAudience == other.jwtAudience && sessionExpiryClaim == other.sessionExpiryClaim
            && allowsIncompleteTokens == other.allowsIncompleteTokens
    }
}
