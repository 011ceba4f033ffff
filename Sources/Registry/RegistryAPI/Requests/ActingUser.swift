import HTTPApplication
import HTTPTypes
import HTTPWire
import PushRegistry

extension HTTPField.Name {
    static let userID = HTTPField.Name("X-User-Id")!
    static let sessionID = HTTPField.Name("X-Session-Id")!
    static let deliveryKey = HTTPField.Name("X-Delivery-Key")!
    static let sessionExpiresAt = HTTPField.Name("X-Session-Expires-At")!
}

extension Caller {
    /// - Throws: 403 if a caller other than a service names a user or session.
    func checkActingHeaders(in request: ServerRequest) throws(RefusedCall) {
        let names: [HTTPField.Name] = [.userID, .sessionID, .sessionExpiresAt]
        guard isService || names.allSatisfy({ !request.head.contains($0) }) else {
            throw RefusedCall(.forbidden("Only a key with the role service may name a user or a session."), self)
        }
    }
}

extension Owner {
    /// The user and session of a JWT, or those for which a service acts; nil without a user.
    ///
    /// - Throws: 400 for invalid identifiers.
    init?(_ request: ServerRequest, by caller: Caller) throws(APIError) {
        let head = request.head
        let (user, session, expiry) = (head[.userID], head[.sessionID], head[.sessionExpiresAt])
        guard user != nil || session != nil || expiry != nil else {
            guard let token = caller.user else { return nil }
            self = token.owner
            return
        }
        var faults: [ParameterFault] = []
        let userID = user.flatMap { text in
            faults.parsed(
                { () throws(InvalidValue) in try UserID(text) }, orAdd: { .header("X-User-Id", $0.detail) })
        }
        let sessionID = session.flatMap { text in
            faults.parsed(
                { () throws(InvalidValue) in try SessionID(text) }, orAdd: { .header("X-Session-Id", $0.detail) })
        }
        let expiresAt = expiry.flatMap(Timestamp.init)
        if user == nil { faults.append(.header("X-User-Id", "A session requires X-User-Id.")) }
        if expiry != nil, session == nil {
            faults.append(.header("X-Session-Expires-At", "This requires X-Session-Id."))
        }
        if expiry != nil, expiresAt == nil {
            faults.append(.header("X-Session-Expires-At", "This must be an RFC 3339 time."))
        }
        guard faults.isEmpty, let userID else { throw .invalidParameters(faults) }
        self.init(userID: userID, session: sessionID.map { Session(id: $0, expiresAt: expiresAt) })
    }
}
