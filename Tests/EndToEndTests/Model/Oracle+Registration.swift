// R1 to R5, R7, R8, R10.

extension Oracle {
    mutating func register(_ registration: ModelRegistration, at moment: Moment) -> Answer {
        seeSession(of: registration.credential)
        let present = phones[registration.phone]
        if let ifMatch = registration.ifMatch, !(present.map { ifMatch.holds(for: $0.generation) } ?? false) {
            guard let present else { return .outdated(registration.credential.isService ? 0 : nil) }
            return .outdated(isReadable(present, to: registration.credential) ? present.generation : nil)
        }
        guard mayBind(registration, over: present, at: moment) else {
            return Answer(409, ["code": .text("session-ended")])
        }
        guard let present else { return create(registration, at: moment) }
        if isAlike(registration, present) { return touch(registration.phone, present, at: moment) }
        return update(present, by: registration, at: moment)
    }

    /// A session counts as seen from its first registration on, even if that one was refused.
    private mutating func seeSession(of credential: ModelCredential) {
        guard let user = credential.user, let session = credential.session, sessions[session] == nil else { return }
        sessions[session] = Session(user: user)
    }

    /// R7: who begins a binding must not come from what was logged out, as long as that is remembered.
    private func mayBind(_ registration: ModelRegistration, over present: Phone?, at moment: Moment) -> Bool {
        let credential = registration.credential
        if let present, present.user == credential.user, present.session == credential.session {
            // A credential without a session that is older than the binding may be from before a logout.
            guard let issuedAt = credential.issuedAt, credential.session == nil else { return true }
            if let boundAt = present.issuedAt, !issuedAt.isInEarlierSecond(than: boundAt) { return true }
        }
        return !isSignedOut(credential, on: registration.phone, at: moment)
    }

    /// A JWT of an ended session, or from before a logout, reads and removes nothing.
    func hasEnded(_ credential: ModelCredential, on phone: String, at moment: Moment) -> Bool {
        guard case .jwt = credential else { return false }
        return isSignedOut(credential, on: phone, at: moment)
    }

    private func isSignedOut(_ credential: ModelCredential, on phone: String, at moment: Moment) -> Bool {
        guard let user = credential.user else { return false }
        var signOuts: [Int64?] = []
        if let session = credential.session {
            signOuts.append(sessions[session]?.endedAt)
            signOuts.append(farewells[Farewell(phone: phone, user: user, session: session)])
        }
        if let issuedAt = credential.issuedAt {
            let here = farewells[Farewell(phone: phone, user: user, session: nil)]
            let everywhere = refusal(of: user, credential.session)
            signOuts += [here, everywhere].filter { $0.map(issuedAt.isInEarlierSecond) ?? false }
        }
        return signOuts.contains { $0.map { moment.sent - $0 < Self.tombstones } ?? false }
    }

    /// When all the user's sessions were ended, unless this one was excepted.
    private func refusal(of user: String, _ session: String?) -> Int64? {
        guard let refusal = refusedBefore[user] else { return nil }
        let wasKept = session.flatMap { sessions[$0]?.keptAt }.map { $0 >= refusal } ?? false
        return wasKept ? nil : refusal
    }

    /// R2: it says nothing that is not known.
    private func isAlike(_ registration: ModelRegistration, _ phone: Phone) -> Bool {
        hasBinding(registration, phone) && phone.expiresAt == registration.credential.expiresAt
            && phone.replacedBy == nil && phone.snapshot == registration.snapshot
    }

    private func hasBinding(_ registration: ModelRegistration, _ phone: Phone) -> Bool {
        phone.state == "active" && phone.provider == registration.provider && phone.token == registration.token
            && phone.user == registration.credential.user && phone.session == registration.credential.session
    }

    private mutating func touch(_ id: String, _ present: Phone, at moment: Moment) -> Answer {
        if moment.sent - present.seenAt >= Self.touchInterval { phones[id]?.seenAt = moment.registrationTime }
        return answer(200, "unchanged", id)
    }

    private func answer(_ status: Int, _ word: String, _ id: String) -> Answer {
        guard let phone = phones[id] else { return .unknownInstallation }
        return Answer(
            status,
            [
                "installId": .text(id), "status": .text(word), "generation": .number(phone.generation),
                "state": .text(phone.state), "userId": .text(phone.user), "seenAt": .number(phone.seenAt),
            ])
    }

    private mutating func create(_ registration: ModelRegistration, at moment: Moment) -> Answer {
        let former = release(registration)
        markReplaced(by: registration)
        let credential = registration.credential
        let now = moment.registrationTime
        // It begins where it likes, above every number before.
        let generation = max(moment.generation ?? 0, (history[registration.phone]?.last?.after ?? 0) + 1)
        let after = Phone(
            provider: registration.provider, token: registration.token, user: credential.user,
            session: credential.session, expiresAt: credential.expiresAt, issuedAt: credential.issuedAt,
            state: "active", generation: generation, registrationGeneration: generation, replacedBy: nil,
            createdAt: now, registeredAt: now, seenAt: now, snapshot: registration.snapshot)
        phones[registration.phone] = after
        snapshotUsers[registration.phone] = [credential.user]
        tell(
            former == nil ? "registered" : "takenOver", former == nil ? "firstRegistration" : "tokenMoved",
            by: actors.name(credential), registration.phone, from: nil, to: after, previousUser: former?.user)
        return answer(201, "created", registration.phone)
    }

    /// R3, R4, R10.
    private mutating func update(
        _ present: Phone, by registration: ModelRegistration, at moment: Moment
    ) -> Answer {
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
        if after.user != present.user || after.session != present.session || present.issuedAt == nil {
            after.issuedAt = registration.credential.issuedAt
        }
        after.snapshot = registration.snapshot
        if after.snapshot != present.snapshot {
            after.snapshots += 1
            snapshotUsers[registration.phone, default: []].append(after.user)
        }
        if !hasBinding(registration, present) { step(&after, from: present, former, by: registration) }
        phones[registration.phone] = after
        return answer(200, "updated", registration.phone)
    }

    private mutating func step(
        _ after: inout Phone, from present: Phone, _ former: Phone?, by registration: ModelRegistration
    ) {
        after.generation += 1
        after.registrationGeneration = after.generation
        after.registeredAt = after.seenAt
        let (kind, reason) = former == nil ? explanation(of: after, from: present) : ("takenOver", "tokenMoved")
        tell(
            kind, reason, by: actors.name(registration.credential), registration.phone, from: present, to: after,
            previousUser: former == nil ? present.user : former?.user)
    }

    /// What concerns most people comes first.
    private func explanation(of after: Phone, from present: Phone) -> (String, String) {
        if present.user != nil, present.user != after.user { return ("takenOver", "ownerChanged") }
        if let token = present.token, token != after.token || present.provider != after.provider {
            return ("rotated", "tokenChanged")
        }
        if present.state != "active" { return ("reactivated", "comeback") }
        return ("registered", present.user == after.user ? "sessionChanged" : "ownerChanged")
    }

    /// R4: whoever else holds the token loses it. The former holder as it was.
    private mutating func release(_ registration: ModelRegistration) -> Phone? {
        let holder = phones.first { id, phone in
            id != registration.phone && phone.provider == registration.provider && phone.token == registration.token
        }
        guard let (id, former) = holder else { return nil }
        var after = former
        after.token = nil
        after.state = "superseded"
        after.generation += 1
        phones[id] = after
        tell(
            "superseded", "tokenMoved", by: actors.name(registration.credential), id, from: former, to: after,
            previousUser: former.user)
        return former
    }

    /// R5. All devices of the model are of one make, so that without a vendor the keychain alone decides.
    private mutating func markReplaced(by registration: ModelRegistration) {
        let (keychain, vendor) = (registration.snapshot.keychain, registration.snapshot.vendor)
        for (id, phone) in phones where id != registration.phone && phone.state == "active" {
            guard phone.snapshot.keychain == keychain else { continue }
            guard vendor == nil || phone.snapshot.vendor == nil || vendor == phone.snapshot.vendor else { continue }
            phones[id]?.replacedBy = registration.phone
        }
    }
}
