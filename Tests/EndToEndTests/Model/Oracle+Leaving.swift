// R6, R7: logout, the end of sessions, removal, erasure.

extension Oracle {
    mutating func logOut(
        _ id: String, by credential: ModelCredential, keepsAnonymous: Bool, _ ifMatch: ModelPrecondition?,
        at moment: Moment
    ) -> Answer {
        guard let phone = phones[id] else {
            if credential.isService { return .unknownInstallation }
            guard credential.user != nil else { return Answer(403, ["code": .text("forbidden")]) }
            return Answer(200, ["status": .text("outdated"), "generation": .absent])
        }
        let holds = ifMatch?.holds(for: phone.generation) ?? true
        guard phone.user != nil else {
            if credential.user != nil {
                return sayGoodbye([(credential.user, credential.session)], "alreadyLoggedOut", id, at: moment)
            }
            guard phone.state == "active", !keepsAnonymous else {
                return sayGoodbye([], "alreadyLoggedOut", id, at: moment)
            }
            return holds
                ? leave(id, phone, by: credential, keepsAnonymous, at: moment)
                : ignoreLogout(id, phone, by: credential, at: moment)
        }
        if case .publishableKey = credential, ifMatch == nil || ifMatch == .exists || !holds {
            return Answer(403, ["code": .text("forbidden")])
        }
        return holds && isAbout(credential, phone)
            ? leave(id, phone, by: credential, keepsAnonymous, at: moment)
            : ignoreLogout(id, phone, by: credential, at: moment)
    }

    /// Whether the caller means the binding that there is, and not one that is over.
    private func isAbout(_ credential: ModelCredential, _ phone: Phone) -> Bool {
        guard let user = credential.user else { return true }
        guard user == phone.user else { return false }
        if let session = credential.session { return session == phone.session }
        guard let issuedAt = credential.issuedAt, let boundAt = phone.issuedAt else { return true }
        return !issuedAt.isInEarlierSecond(than: boundAt)
    }

    private mutating func leave(
        _ id: String, _ phone: Phone, by credential: ModelCredential, _ keepsAnonymous: Bool, at moment: Moment
    ) -> Answer {
        unbind(id, "loggedOut", "loggedOut", by: actors.name(credential), keepsActive: keepsAnonymous)
        return sayGoodbye(
            [(phone.user, phone.session), (credential.user, credential.session)], "loggedOut", id, at: moment)
    }

    /// R6: a late one changes nothing but that its own session, or without one all that the user had before, is over
    /// here.
    private mutating func ignoreLogout(
        _ id: String, _ phone: Phone, by credential: ModelCredential, at moment: Moment
    ) -> Answer {
        tell(
            "logoutIgnored", "outdatedLogout", by: actors.name(credential), id, from: phone, to: phone,
            previousUser: phone.user)
        let isBound = credential.user == phone.user && (credential.session ?? phone.session) == phone.session
        let over = isBound ? [] : [(credential.user, credential.session)]
        var answer = sayGoodbye(over, "outdated", id, at: moment)
        if !isReadable(phone, to: credential) { answer.members["generation"] = .absent }
        return answer
    }

    /// Only a caller that may read the record is told its generation.
    func isReadable(_ phone: Phone, to credential: ModelCredential) -> Bool {
        credential.isService || phone.user == credential.user
    }

    private mutating func sayGoodbye(
        _ bindings: [(user: String?, session: String?)], _ word: String, _ id: String, at moment: Moment
    ) -> Answer {
        for case (let user?, let session) in bindings {
            farewells[Farewell(phone: id, user: user, session: session)] = moment.sent
        }
        return Answer(200, ["status": .text(word), "generation": .number(phones[id]?.generation ?? 0)])
    }

    private mutating func unbind(
        _ id: String, _ kind: String, _ reason: String, by actor: String, keepsActive: Bool = false
    ) {
        guard let phone = phones[id] else { return }
        let after = phone.unbound(keepsActive: keepsActive)
        phones[id] = after
        tell(kind, reason, by: actor, id, from: phone, to: after, previousUser: phone.user)
    }

    mutating func endSession(_ session: String, at moment: Moment) -> Answer {
        sessions[session, default: Session()].endedAt = moment.sent
        let bound = phones.filter { $0.value.session == session }.map(\.key)
        for id in bound { unbind(id, "sessionEnded", "sessionEnded", by: actors.service) }
        return Answer(200, ["loggedOut": .number(Int64(bound.count))])
    }

    mutating func logOutUser(_ user: String, except kept: String?, at moment: Moment) -> Answer {
        endSessions(of: user, except: kept, at: moment)
        let bound = phones.filter { $0.value.user == user && (kept == nil || $0.value.session != kept) }.map(\.key)
        for id in bound { unbind(id, "loggedOut", "userLoggedOut", by: actors.service) }
        return Answer(200, ["loggedOut": .number(Int64(bound.count))])
    }

    private mutating func endSessions(of user: String, except kept: String?, at moment: Moment) {
        // Later than any before, even of a call that was sent later and carried out before.
        let now = max(moment.sent, (refusedBefore[user] ?? 0) + 1)
        refusedBefore[user] = now
        // One that was ended long ago is ended anew: that may be forgotten by now.
        for (id, session) in sessions where session.user == user && id != kept {
            sessions[id]?.endedAt = now
        }
        // Those that are bound, with whomever they were seen first.
        for phone in phones.values where phone.user == user && phone.session != kept {
            if let session = phone.session { sessions[session, default: Session()].endedAt = now }
        }
        if let kept { sessions[kept, default: Session(user: user)].keptAt = now }
    }

    mutating func remove(
        _ id: String, by credential: ModelCredential, _ ifMatch: ModelPrecondition?, at moment: Moment
    ) -> Answer {
        if hasEnded(credential, on: id, at: moment) { return .endedCredential }
        let phone = phones[id]
        if let phone, !isOwn(phone, of: credential) { return .unknownInstallation }
        if let ifMatch, !(phone.map { ifMatch.holds(for: $0.generation) } ?? false) {
            // A service that names a user gets what that user's JWT gets.
            guard phone != nil || credential.isService && credential.user == nil else { return .unknownInstallation }
            return .outdated(phone?.generation ?? 0)
        }
        guard let phone else { return Answer(204) }
        var after = phone
        after.user = nil
        after.generation += 1
        phones[id] = nil
        snapshotUsers[id] = nil
        tell(
            "deleted", "deletedByCaller", by: actors.name(credential), id, from: phone, to: after,
            previousUser: phone.user)
        return Answer(204)
    }

    /// Those of the user go, and those that nobody registered since the user left them.
    mutating func erase(_ user: String, at moment: Moment) -> Answer {
        endSessions(of: user, except: nil, at: moment)
        let leaving = phones.filter { id, phone in
            phone.user == user || phone.user == nil && phone.state != "active" && lastRegistrant(of: id) == user
        }
        let told = forget(user)
        for (id, phone) in leaving {
            phones[id] = nil
            snapshotUsers[id] = nil
            tell("erased", "userErased", by: actors.service, id, from: phone, to: phone.unbound(), previousUser: nil)
        }
        return Answer(
            200,
            [
                "userId": .text(user), "installations": .number(Int64(leaving.count)), "events": .number(told),
                "snapshots": .number(leaving.values.reduce(forgetSnapshots(of: user)) { $0 + Int64($1.snapshots) }),
            ])
    }

    /// Those of the user, of installations that others have, but for the newest, which is nobody's then. How many there
    /// were.
    private mutating func forgetSnapshots(of user: String) -> Int64 {
        var forgotten = 0
        for (id, users) in snapshotUsers {
            let kept = users.dropLast().filter { $0 != user } + users.suffix(1).map { $0 == user ? nil : $0 }
            forgotten += users.count - kept.count
            snapshotUsers[id] = kept
            phones[id]?.snapshots = kept.count
        }
        return Int64(forgotten)
    }

    private func lastRegistrant(of id: String) -> String? {
        history[id]?.last { ["registered", "rotated", "takenOver", "reactivated"].contains($0.kind) }?.user
    }

    /// Takes the user out of history. How many events named the user.
    private mutating func forget(_ user: String) -> Int64 {
        var told: Int64 = 0
        for id in history.keys {
            for index in history[id]?.indices ?? 0..<0 {
                guard let event = history[id]?[index], event.user == user || event.previousUser == user else {
                    continue
                }
                told += 1
                if event.user == user { history[id]?[index].user = nil }
                if event.previousUser == user { history[id]?[index].previousUser = nil }
            }
        }
        return told
    }

    /// Whether the installation exists for the caller.
    func isOwn(_ phone: Phone, of credential: ModelCredential) -> Bool {
        // A service that names a user gets what that user's JWT gets.
        credential.isService && credential.user == nil || phone.user == credential.user
    }
}

extension Oracle.Phone {
    func unbound(keepsActive: Bool = false) -> Oracle.Phone {
        var after = self
        (after.user, after.session, after.expiresAt, after.issuedAt) = (nil, nil, nil, nil)
        after.generation += 1
        if state == "active", !keepsActive { after.state = "loggedOut" }
        return after
    }
}
