// R1 to R5, R7, R8, R10.

extension Oracle {
    mutating func register(_ registration: ModelRegistration, at moment: Moment) -> Response {
        let present = phones[registration.phone]
        // The model's clients keep no delivery key, so the token is their proof.
        if case .publishableKey = registration.credential, let present, present.user != nil, let token = present.token,
            token != registration.token || present.provider != registration.provider
        {
            return Response(403, ["code": .text("owned-installation")])
        }
        if let ifMatch = registration.ifMatch, !(present.map { ifMatch.holds(for: $0.generation) } ?? false) {
            guard let present else { return .outdated(registration.credential.isService ? 0 : nil) }
            return .outdated(isReadable(present, to: registration.credential) ? present.generation : nil)
        }
        guard mayBind(registration, over: present, at: moment) else {
            return Response(409, ["code": .text("session-ended")])
        }
        seeSession(of: registration.credential)
        guard let present else { return create(registration, at: moment) }
        if isAlike(registration, present) { return touch(registration.phone, present, at: moment) }
        return update(present, by: registration, at: moment)
    }

    /// A session counts as seen from its first binding on.
    private mutating func seeSession(of credential: ModelCredential) {
        guard let user = credential.user, let session = credential.session, sessions[session] == nil else { return }
        sessions[session] = Session(user: user)
    }

    /// R7: a registration that sets the owner must not come from an ended session or from before a logout.
    private func mayBind(_ registration: ModelRegistration, over present: Phone?, at moment: Moment) -> Bool {
        let credential = registration.credential
        if let present, present.user == credential.user, present.session == credential.session {
            // An older credential without a session may be from before a logout.
            guard let issuedAt = credential.issuedAt, credential.session == nil else { return true }
            if let boundAt = present.issuedAt, !issuedAt.isInEarlierSecond(than: boundAt) { return true }
        }
        return !isSignedOut(credential, on: registration.phone, at: moment)
    }

    /// Whether a JWT is of an ended session or from before a logout: it may neither read nor delete.
    func hasEnded(_ credential: ModelCredential, on phone: String, at moment: Moment) -> Bool {
        guard case .jwt = credential else { return false }
        return isSignedOut(credential, on: phone, at: moment)
    }

    private func isSignedOut(_ credential: ModelCredential, on phone: String, at moment: Moment) -> Bool {
        guard let user = credential.user else { return false }
        var tombstones: [Int64?] = []
        if let session = credential.session {
            tombstones.append(sessions[session]?.endedAt)
            tombstones.append(logouts[InstallationLogout(phone: phone, user: user, session: session)])
        }
        if let sent = credential.issuedAt {
            // A JWT from the future comes from a clock that is ahead.
            let issuedAt = sent > moment.sent ? moment.sent - Self.leeway : sent
            let here = logouts[InstallationLogout(phone: phone, user: user, session: nil)]
            let everywhere = refusal(of: user, credential.session)
            // A logout in the future has the time of a clock that was wrong.
            tombstones += [here, everywhere].filter { logout in
                logout.map {
                    issuedAt.isInEarlierSecond(than: $0 + Self.leeway) && $0 <= moment.sent + Self.leeway
                } ?? false
            }
        }
        return tombstones.contains { $0.map { moment.sent - $0 < Self.tombstones } ?? false }
    }

    /// When all sessions of the user were ended; nil if this one was excepted.
    private func refusal(of user: String, _ session: String?) -> Int64? {
        guard let refusal = refusedBefore[user] else { return nil }
        let wasKept = session.flatMap { sessions[$0]?.keptBy }.map { $0 == refusals[user] } ?? false
        return wasKept ? nil : refusal
    }

    /// R2: whether the registration changes nothing.
    private func isAlike(_ registration: ModelRegistration, _ phone: Phone) -> Bool {
        hasBinding(registration, phone) && phone.expiresAt == registration.credential.expiresAt
            && phone.replacedBy == nil && phone.snapshot == registration.snapshot
            && phone.typed == registration.typedSet ?? phone.typed
    }

    private func hasBinding(_ registration: ModelRegistration, _ phone: Phone) -> Bool {
        phone.state == "active" && phone.provider == registration.provider && phone.token == registration.token
            && phone.user == registration.credential.user && phone.session == registration.credential.session
    }

    private mutating func touch(_ id: String, _ present: Phone, at moment: Moment) -> Response {
        if moment.sent - present.seenAt >= Self.touchInterval { phones[id]?.seenAt = moment.registrationTime }
        return response(200, "unchanged", id)
    }

    private func response(_ status: Int, _ word: String, _ id: String) -> Response {
        guard let phone = phones[id] else { return .unknownInstallation }
        return Response(
            status,
            [
                "installId": .text(id), "status": .text(word), "generation": .number(phone.generation),
                "state": .text(phone.state), "userId": .text(phone.user), "seenAt": .number(phone.seenAt),
            ])
    }

    private mutating func create(_ registration: ModelRegistration, at moment: Moment) -> Response {
        let former = release(registration)
        markReplaced(by: registration)
        let credential = registration.credential
        let now = moment.registrationTime
        // Any generation above all former ones.
        let generation = max(moment.generation ?? 0, (history[registration.phone]?.last?.after ?? 0) + 1)
        let after = Phone(
            provider: registration.provider, token: registration.token, user: credential.user,
            session: credential.session, expiresAt: credential.expiresAt, issuedAt: credential.issuedAt,
            state: "active", generation: generation, registrationGeneration: generation, replacedBy: nil,
            createdAt: now, registeredAt: now, seenAt: now, snapshot: registration.snapshot)
        phones[registration.phone] = after
        snapshotUsers[registration.phone] = [credential.user]
        registrants[registration.phone] = credential.user
        record(
            former == nil ? "registered" : "takenOver", former == nil ? "firstRegistration" : "tokenMoved",
            by: actors.name(credential), registration.phone, from: nil, to: after, previousUser: former?.user)
        bringTokens(registration)
        return response(201, "created", registration.phone)
    }

    /// R3, R4, R10.
    private mutating func update(
        _ present: Phone, by registration: ModelRegistration, at moment: Moment
    ) -> Response {
        let former = release(registration)
        var after = present
        after.provider = registration.provider
        after.token = registration.token
        after.user = registration.credential.user
        after.session = registration.credential.session
        after.expiresAt = registration.credential.expiresAt
        after.state = "active"
        after.replacedBy = nil
        after.seenAt = moment.registrationTime
        let mayKeep = after.user == present.user && present.state != "superseded" && after.provider != "fcm"
        if !mayKeep { after.typed = [:] }
        let isOwner = after.user == present.user && after.session == present.session
        if !isOwner || present.issuedAt == nil && after.session == nil {
            after.issuedAt = registration.credential.issuedAt
        }
        after.snapshot = registration.snapshot
        if after.snapshot != present.snapshot {
            after.snapshots += 1
            snapshotUsers[registration.phone, default: []].append(after.user)
        }
        registrants[registration.phone] = after.user
        if !hasBinding(registration, present) { step(&after, from: present, former, by: registration) }
        phones[registration.phone] = after
        bringTokens(registration)
        return response(200, "updated", registration.phone)
    }

    /// The former holders of typed tokens keep the rest of their sets, and their generations.
    private mutating func bringTokens(_ registration: ModelRegistration) {
        guard let typed = registration.typed else { return }
        for token in typed {
            let holders = phones.filter { $0.key != registration.phone && $0.value.typed[token] != nil }
            for (id, former) in holders {
                phones[id]?.typed[token] = nil
                history[id, default: []].append(
                    Event(
                        kind: "tokenMoved", reason: "voip", actor: actors.name(registration.credential),
                        provider: former.typed[token] ?? "", token: token, user: former.user,
                        previousUser: former.user, state: former.state, before: former.generation,
                        after: former.generation))
            }
        }
        phones[registration.phone]?.typed = registration.typedSet ?? [:]
    }

    private mutating func step(
        _ after: inout Phone, from present: Phone, _ former: Phone?, by registration: ModelRegistration
    ) {
        after.generation += 1
        after.registrationGeneration = after.generation
        after.registeredAt = after.seenAt
        let (kind, reason) = former == nil ? explanation(of: after, from: present) : ("takenOver", "tokenMoved")
        record(
            kind, reason, by: actors.name(registration.credential), registration.phone, from: present, to: after,
            previousUser: former == nil ? present.user : former?.user)
    }

    /// The most important change names the event.
    private func explanation(of after: Phone, from present: Phone) -> (String, String) {
        if present.user != nil, present.user != after.user { return ("takenOver", "ownerChanged") }
        if let token = present.token, token != after.token || present.provider != after.provider {
            return ("rotated", "tokenChanged")
        }
        if present.state != "active" { return ("reactivated", "comeback") }
        return ("registered", present.user == after.user ? "sessionChanged" : "ownerChanged")
    }

    /// R4: another holder of the token loses it.
    ///
    /// - Returns: the former holder before the change.
    private mutating func release(_ registration: ModelRegistration) -> Phone? {
        let holder = phones.first { id, phone in
            id != registration.phone && phone.provider == registration.provider && phone.token == registration.token
        }
        guard let (id, former) = holder else { return nil }
        var after = former
        after.token = nil
        after.typed = [:]
        after.state = "superseded"
        after.generation += 1
        phones[id] = after
        record(
            "superseded", "tokenMoved", by: actors.name(registration.credential), id, from: former, to: after,
            previousUser: former.user)
        return former
    }

    /// R5. All devices have the same model, so without a vendor id the keychain id decides.
    private mutating func markReplaced(by registration: ModelRegistration) {
        let (keychain, vendor) = (registration.snapshot.keychain, registration.snapshot.vendor)
        for (id, phone) in phones where id != registration.phone && phone.state == "active" {
            guard phone.snapshot.keychain == keychain else { continue }
            guard vendor == nil || phone.snapshot.vendor == nil || vendor == phone.snapshot.vendor else { continue }
            phones[id]?.replacedBy = registration.phone
        }
    }
}

extension ModelRegistration {
    fileprivate var typedSet: [String: String]? {
        typed.map { Dictionary(uniqueKeysWithValues: $0.map { ($0, provider) }) }
    }
}
