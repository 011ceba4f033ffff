import Foundation
import PushRegistryClient

extension InMemoryRegistry {
    /// How long an installation stays active without a registration.
    static let staleAfter: TimeInterval = 60 * 86_400

    // MARK: - PUT

    func register(_ call: Call, by caller: Caller) throws(Refusal) -> Response {
        let body = try RegisteredBody(call.json(), installID: call.installID)
        let before = installations[call.installID]
        if case .user(let token) = caller, endings.contains(token, at: call.installID) {
            throw Refusal(409, "session-ended")
        }
        let owner = try owner(after: call, by: caller, on: before) { $0.holds(body.token, body.provider) }
        try checkPrecondition(call, before, mayRead: mayRead(before, caller))
        // Another spelling of the address is another binding, too.
        let changesBinding =
            before?.token != body.token || before?.provider != body.provider || before?.owner != owner
            || before?.state != .active
        var installation =
            before
            ?? Installation(
                provider: body.provider, generation: nextGeneration(), snapshot: body.snapshot, lastSeenAt: clock.now)
        if before == nil {
            installation.owner = owner
        } else if changesBinding {
            installation.change(to: owner, .active, generation: nextGeneration())
        }
        if case .user(let token) = caller { installation.boundAt = token.iat }
        let tokensBefore = installation.tokens.live(at: clock.now)
        var expired: Int?
        if let tokens = body.tokens {
            (installation.tokens, expired) = try tokensBefore.replaced(
                by: tokens, provider: body.provider, at: clock.now)
        } else if !body.provider.hasPrefix("apns") {
            installation.tokens = TokenSet()
        }
        takeOver(body.token, body.provider, for: call.installID)
        installation.token = body.token
        installation.provider = body.provider
        let isUnchanged = !changesBinding && installation.snapshot == body.snapshot
        let topicsBefore = installation.topics
        choose(body.topics, in: &installation)
        installation.snapshot = body.snapshot
        installation.lastSeenAt = clock.now
        installations[call.installID] = installation
        store(installation.tokens, for: call.installID)
        if before?.state != .active || before?.owner?.user != owner?.user {
            limitInstallations(of: owner, call.installID)
        }
        let keepsSet = installation.topics == topicsBefore && installation.tokens == tokensBefore
        let status = before == nil ? "created" : isUnchanged && keepsSet ? "unchanged" : "updated"
        var members: [String: JSON] = [
            "installId": .string(call.installID), "generation": .integer(installation.generation),
            "status": .string(status), "state": "active", "userId": JSON(caller.owner?.user),
            "registerAgainBefore": .string((clock.now + Self.staleAfter).formatted(.iso8601)),
            "deliveryKey": .string(installation.inbox.key), "epoch": .string(installation.inbox.epoch),
        ]
        members["expired"] = expired.map { .integer(Int64($0)) }
        return .json(.object(members), status: before == nil ? 201 : 200, fields: ["etag": installation.eTag])
    }

    /// The owner after a registration. The publishable key gets an owned installation with its delivery key, and then
    /// the owner stays; or with the token that it holds, and then it becomes anonymous.
    private func owner(
        after call: Call, by caller: Caller, on before: Installation?, _ holds: (Installation) -> Bool
    ) throws(Refusal) -> Owner? {
        guard case .nobody = caller else { return caller.owner }
        if let deliveryKey = call.deliveryKey {
            guard deliveryKey == before?.inbox.key else { throw Refusal(403, "owned-installation") }
            return before?.owner
        }
        guard let before, before.owner != nil else { return nil }
        guard holds(before) else { throw Refusal(403, "owned-installation") }
        return nil
    }

    /// R1, R4: takes the token from its present holder.
    private func takeOver(_ token: String, _ provider: String, for installID: String) {
        for (id, other) in installations where id != installID && other.holds(token, provider) { supersede(id) }
    }

    /// Beyond the limit, those that have not been seen for the longest are superseded.
    private func limitInstallations(of owner: Owner?, _ installID: String) {
        guard let owner, let limit = installationsPerUser else { return }
        let others = installations.filter {
            $0.key != installID && $0.value.state == .active && $0.value.owner?.user == owner.user
        }
        let oldest = others.sorted { ($0.value.lastSeenAt, $0.key) < ($1.value.lastSeenAt, $1.key) }
        for (id, _) in oldest.prefix(max(0, others.count + 1 - limit)) { supersede(id) }
    }

    private func supersede(_ id: String) {
        guard var former = installations[id] else { return }
        former.change(to: nil, .superseded, generation: nextGeneration())
        // Also of one without an owner.
        (former.token, former.topics, former.inbox) = (nil, [:], Inbox())
        installations[id] = former
    }

    func checkPrecondition(_ call: Call, _ installation: Installation?, mayRead: Bool) throws(Refusal) {
        guard let field = call.request.fields["If-Match"] else { return }
        guard field == "*" || field.hasPrefix("\"") && field.hasSuffix("\"") else {
            throw Refusal(400, "invalid-header")
        }
        guard let installation else { throw Refusal(412, "outdated") }
        guard field != "*", field != installation.eTag else { return }
        guard mayRead else { throw Refusal(412, "outdated") }
        throw Refusal(
            412, "outdated", ["generation": .integer(installation.generation)], eTag: installation.eTag)
    }

    /// Whether a caller may read an installation: a user reads the user's own, the publishable key anonymous ones.
    func mayRead(_ installation: Installation?, _ caller: Caller) -> Bool {
        installation.map { $0.owner?.user == caller.owner?.user } ?? true
    }

    func readable(_ call: Call, by caller: Caller) throws(Refusal) -> Installation {
        guard let installation = installations[call.installID], mayRead(installation, caller) else {
            throw Refusal(404, "unknown-installation")
        }
        return installation
    }

    // MARK: - GET and DELETE

    func record(_ call: Call, by caller: Caller) throws(Refusal) -> Response {
        let installation = try readable(call, by: caller)
        return .json(
            [
                "installId": .string(call.installID), "provider": .string(installation.provider),
                "userId": JSON(installation.owner?.user), "sessionId": JSON(installation.owner?.session),
                "state": .string(installation.state.rawValue), "generation": .integer(installation.generation),
            ], fields: ["etag": installation.eTag])
    }

    func delete(_ call: Call, by caller: Caller) throws(Refusal) -> Response {
        guard installations[call.installID] != nil else { return Response(status: 204) }
        let installation = try readable(call, by: caller)
        try checkPrecondition(call, installation, mayRead: true)
        installations[call.installID] = nil
        return Response(status: 204)
    }

    // MARK: - Logout

    func logOut(_ call: Call, by caller: Caller) throws(Refusal) -> Response {
        let keepsAnonymous =
            call.request.body.flatMap { try? JSONDecoder().decode(JSON.self, from: $0) }?[
                "keepAnonymous"] == .boolean(true)
        guard let installation = installations[call.installID] else {
            // The responses do not reveal whether an installation exists.
            guard case .user = caller else { throw Refusal(403, "forbidden") }
            return .json(["status": "outdated"])
        }
        let field = call.request.fields["If-Match"]
        let isCurrent = field.map { $0 == installation.eTag || $0 == "*" } ?? true
        switch caller {
        case .user(let token):
            guard installation.owner?.user == token.sub else {
                end(token, at: call.installID)
                return loggedOut(call.installID, installation.owner == nil ? "alreadyLoggedOut" : "outdated", caller)
            }
            let isOfSession = token.sid == nil || installation.owner?.session == token.sid
            // A late logout does not end the session that the installation is in now.
            let isOutdated = !isCurrent || token.sid == nil && token.iat < installation.boundAt
            if !isOfSession || !isOutdated { end(token, at: call.installID) }
            guard isOfSession, !isOutdated else { return loggedOut(call.installID, "outdated", caller) }
        case .nobody:
            // An owned installation needs its delivery key, and one that has ended is not accepted for any.
            guard call.deliveryKey.map({ $0 == installation.inbox.key }) ?? (installation.owner == nil) else {
                throw Refusal(403, "forbidden")
            }
            guard isCurrent else { return loggedOut(call.installID, "outdated", caller) }
            guard installation.state == .active else { return loggedOut(call.installID, "alreadyLoggedOut", caller) }
        }
        if let session = installation.owner?.session { endings.installations.insert("\(call.installID)\n\(session)") }
        unbind(call.installID, to: keepsAnonymous ? .active : .loggedOut)
        if keepsAnonymous {
            installations[call.installID]?.tokens = installation.tokens.only([.widget, .complication])
        }
        return loggedOut(call.installID, "loggedOut", caller)
    }

    private func end(_ token: UserToken, at installID: String) {
        if let session = token.sid {
            endings.installations.insert("\(installID)\n\(session)")
        } else {
            endings.installationUsers["\(installID)\n\(token.sub)"] = Int64(clock.now.timeIntervalSince1970)
        }
    }

    private func loggedOut(_ installID: String, _ status: String, _ caller: Caller) -> Response {
        guard let installation = installations[installID], status == "loggedOut" || mayRead(installation, caller) else {
            return .json(["status": .string(status)])
        }
        return .json(
            ["status": .string(status), "generation": .integer(installation.generation)],
            fields: ["etag": installation.eTag])
    }
}

extension InMemoryRegistry.Installation {
    var eTag: String { "\"\(generation)\"" }

    /// R1: whether this is the installation's token, in any spelling.
    func holds(_ token: String, _ provider: String) -> Bool {
        guard let present = self.token, self.provider == provider else { return false }
        return Self.address(of: present, provider) == Self.address(of: token, provider)
    }

    /// As the service's `Token.address`, which `ClientConformance` compares: the Firebase installation id of an `fcm`
    /// token, alone or before a colon, if it has one.
    private static func address(of token: String, _ provider: String) -> Substring {
        let id = #/([c-f][A-Za-z0-9_-]{21})(:.*)?/#
        return (provider == "fcm" ? token.wholeMatch(of: id)?.1 : nil) ?? token[...]
    }
}

/// The members of a registration's body that this registry uses.
private struct RegisteredBody {
    typealias JSON = PushRegistryClient.JSON

    let token: String
    let provider: String
    let snapshot: JSON
    let topics: [String: JSON]
    /// Nil leaves the set alone.
    let tokens: JSON?

    init(_ body: JSON, installID: String) throws(InMemoryRegistry.Refusal) {
        var faults: [(String, String)] = []
        let device = body["device"]?.members ?? [:]
        let provider = body["provider"]?.string ?? "apns"
        if body["token"]?.string == nil { faults.append(("/token", "required")) }
        if !["apns", "apnsSandbox", "fcm", "huawei", "webPush"].contains(provider) {
            faults.append(("/provider", "unknown-provider"))
        }
        for name in ["installId", "deviceModel", "systemName", "systemVersion", "locale", "timeZoneId"]
        where device[name]?.string == nil { faults.append(("/device/\(name)", "required")) }
        if let id = device["installId"]?.string, id != installID {
            faults.append(("/device/installId", "install-id-mismatch"))
        }
        let isAPNs = provider.hasPrefix("apns")
        let text = body["token"]?.string ?? ""
        if isAPNs, text.wholeMatch(of: #/[0-9A-Fa-f]{16,400}/#) == nil { faults.append(("/token", "invalid-token")) }
        guard faults.isEmpty else {
            let errors = faults.map { JSON.object(["pointer": .string($0.0), "code": .string($0.1)]) }
            throw .init(400, "invalid-body", ["errors": .array(errors)])
        }
        token = isAPNs ? text.lowercased() : text
        self.provider = provider
        var canonical = device.filter { $0.value != .null && $0.key != "advertisingId" }
        canonical["locale"] = JSON(device["locale"]?.string?.replacingOccurrences(of: "-", with: "_"))
        snapshot = .object([
            "device": .object(canonical), "settings": .object(body["settings"]?.members ?? [:]),
        ])
        topics = body["topics"]?.members ?? [:]
        tokens = body["tokens"].flatMap { $0 == .null ? nil : $0 }
    }
}
