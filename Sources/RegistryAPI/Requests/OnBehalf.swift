import HTTPServer
import HTTPTypes
import HTTPWire
import PushRegistry

extension HTTPField.Name {
    static let userID = HTTPField.Name("X-User-Id")!
    static let sessionID = HTTPField.Name("X-Session-Id")!
    static let sessionExpiresAt = HTTPField.Name("X-Session-Expires-At")!
}

extension Caller {
    /// - Throws: 403 where a client names somebody.
    func checkNaming(in request: ServerRequest) throws(RefusedCall) {
        let names: [HTTPField.Name] = [.userID, .sessionID, .sessionExpiresAt]
        guard isService || names.allSatisfy({ request.head[$0] == nil }) else {
            throw RefusedCall(.forbidden("Only a key with the role service may name a user or a session."), self)
        }
    }
}

extension Owner {
    /// The user and session that a JWT proves, or that a service acts for.
    ///
    /// - Throws: 400 for values that are no identifiers.
    init?(_ request: ServerRequest, by caller: Caller) throws(APIError) {
        let head = request.head
        let (user, session, expiry) = (head[.userID], head[.sessionID], head[.sessionExpiresAt])
        guard user != nil || session != nil || expiry != nil else {
            guard let token = caller.user else { return nil }
            self = token.owner
            return
        }
        var faults: [ParameterFault] = []
        let userID = user.flatMap { text in faults.catching("X-User-Id") { () throws(InvalidValue) in try UserID(text) }
        }
        let sessionID = session.flatMap { text in
            faults.catching("X-Session-Id") { () throws(InvalidValue) in try SessionID(text) }
        }
        let expiresAt = expiry.flatMap(Timestamp.init)
        if user == nil { faults.add("X-User-Id", "A session belongs to a user: name both.") }
        if expiry != nil, session == nil { faults.add("X-Session-Expires-At", "This needs X-Session-Id.") }
        if expiry != nil, expiresAt == nil { faults.add("X-Session-Expires-At", "This must be a time of RFC 3339.") }
        guard faults.isEmpty, let userID else { throw .invalidParameters(faults) }
        self.init(userID: userID, session: sessionID.map { Session(id: $0, expiresAt: expiresAt) })
    }
}

extension [ParameterFault] {
    mutating func add(_ header: String, _ detail: String) {
        append(ParameterFault(parameter: header, code: "invalid-header", detail: detail))
    }

    /// The value, or nil and one fault more.
    mutating func catching<Value>(_ header: String, _ value: () throws(InvalidValue) -> Value) -> Value? {
        do throws(InvalidValue) {
            return try value()
        } catch {
            add(header, error.detail)
            return nil
        }
    }
}

extension InstallID {
    /// The `installId` of the path.
    init(_ request: ServerRequest) throws(APIError) {
        self = try request.identifier("installId") { (text) throws(InvalidValue) in try InstallID(text) }
    }
}

extension ServerRequest {
    /// An identifier of the path.
    ///
    /// - Throws: `APIError.invalidParameters`.
    func identifier<Identifier>(
        _ name: String, _ make: (String) throws(InvalidValue) -> Identifier
    ) throws(APIError) -> Identifier {
        do throws(InvalidValue) {
            return try make(parameters[name])
        } catch {
            throw .invalidParameters([ParameterFault(parameter: name, code: error.code, detail: error.detail)])
        }
    }
}
