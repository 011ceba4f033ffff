// R6, R7: logout, the end of sessions, deletion, erasure.

extension Oracle {
    mutating func logOut(
        _ id: String, by credential: ModelCredential, keepsAnonymous: Bool, _ ifMatch: ModelPrecondition?,
        at moment: Moment
    ) -> Response {
        guard let phone = phones[id] else {
            if credential.isService { return .unknownInstallation }
            guard credential.user != nil else { return Response(403, ["code": .text("forbidden")]) }
            return Response(200, ["status": .text("outdated"), "generation": .absent])
        }
        let holds = ifMatch?.holds(for: phone.generation) ?? true
        guard phone.user != nil else {
            if credential.user != nil {
                return end([(credential.user, credential.session)], "alreadyLoggedOut", id, at: moment)
            }
            guard phone.state == "active", !keepsAnonymous else {
                return end([], "alreadyLoggedOut", id, at: moment)
            }
            return holds
                ? leave(id, phone, by: credential, keepsAnonymous, at: moment)
                : ignoreLogout(id, phone, by: credential, at: moment)
        }
        if case .publishableKey = credential { return Response(403, ["code": .text("forbidden")]) }
        return holds && isAbout(credential, phone)
            ? leave(id, phone, by: credential, keepsAnonymous, at: moment)
            : ignoreLogout(id, phone, by: credential, at: moment)
    }

    /// Whether the caller means the current owner and session.
    private func isAbout(_ credential: ModelCredential, _ phone: Phone) -> Bool {
        guard let user = credential.user else { return true }
        guard user == phone.user else { return false }
        if let session = credential.session { return session == phone.session }
        guard let issuedAt = credential.issuedAt, let boundAt = phone.issuedAt else { return true }
        return !issuedAt.isInEarlierSecond(than: boundAt)
    }

    private mutating func leave(
        _ id: String, _ phone: Phone, by credential: ModelCredential, _ keepsAnonymous: Bool, at moment: Moment
    ) -> Response {
        unbind(id, "loggedOut", "loggedOut", by: actors.name(credential), keepsActive: keepsAnonymous)
        return end(
            [(phone.user, phone.session), (credential.user, credential.session)], "loggedOut", id, at: moment)
    }

    /// R6: a late logout does not change the installation. It ends its own session there, or without a session the
    /// earlier credentials of its user.
    private mutating func ignoreLogout(
        _ id: String, _ phone: Phone, by credential: ModelCredential, at moment: Moment
    ) -> Response {
        record(
            "logoutIgnored", "outdatedLogout", by: actors.name(credential), id, from: phone, to: phone,
            previousUser: phone.user)
        let isBound = credential.user == phone.user && (credential.session ?? phone.session) == phone.session
        let over = isBound ? [] : [(credential.user, credential.session)]
        var response = end(over, "outdated", id, at: moment)
        if !isReadable(phone, to: credential) { response.members["generation"] = .absent }
        return response
    }

    /// Whether the caller may read the record, and so see its generation.
    func isReadable(_ phone: Phone, to credential: ModelCredential) -> Bool {
        credential.isService || phone.user == credential.user
    }

    private mutating func end(
        _ bindings: [(user: String?, session: String?)], _ word: String, _ id: String, at moment: Moment
    ) -> Response {
        for case (let user?, let session) in bindings {
            logouts[InstallationLogout(phone: id, user: user, session: session)] = moment.sent
        }
        return Response(200, ["status": .text(word), "generation": .number(phones[id]?.generation ?? 0)])
    }

    private mutating func unbind(
        _ id: String, _ kind: String, _ reason: String, by actor: String, keepsActive: Bool = false
    ) {
        guard let phone = phones[id] else { return }
        let after = phone.unbound(keepsActive: keepsActive)
        phones[id] = after
        record(kind, reason, by: actor, id, from: phone, to: after, previousUser: phone.user)
    }

    mutating func endSession(_ session: String, at moment: Moment) -> Response {
        sessions[session, default: Session()].endedAt = moment.sent
        let bound = phones.filter { $0.value.session == session }.map(\.key)
        for id in bound { unbind(id, "sessionEnded", "sessionEnded", by: actors.service) }
        return Response(200, ["loggedOut": .number(Int64(bound.count))])
    }

    mutating func logOutUser(_ user: String, except kept: String?, at moment: Moment) -> Response {
        endSessions(of: user, except: kept, at: moment)
        let bound = phones.filter { $0.value.user == user && (kept == nil || $0.value.session != kept) }.map(\.key)
        for id in bound { unbind(id, "loggedOut", "userLoggedOut", by: actors.service) }
        return Response(200, ["loggedOut": .number(Int64(bound.count))])
    }

    private mutating func endSessions(of user: String, except kept: String?, at moment: Moment) {
        let now = moment.sent
        refusedBefore[user] = now
        refusals[user, default: 0] += 1
        // Sessions that were ended before are ended again: their tombstones may have been deleted.
        for (id, session) in sessions where session.user == user && id != kept {
            sessions[id]?.endedAt = now
        }
        // The current sessions of the user, even if another user was seen with them first.
        for phone in phones.values where phone.user == user && phone.session != kept {
            if let session = phone.session { sessions[session, default: Session()].endedAt = now }
        }
        if let kept { sessions[kept, default: Session(user: user)].keptBy = refusals[user] }
    }

    mutating func remove(
        _ id: String, by credential: ModelCredential, _ ifMatch: ModelPrecondition?, at moment: Moment
    ) -> Response {
        if hasEnded(credential, on: id, at: moment) { return .endedCredential }
        let phone = phones[id]
        if let phone, !isOwn(phone, of: credential) { return .unknownInstallation }
        if let ifMatch, !(phone.map { ifMatch.holds(for: $0.generation) } ?? false) {
            // A service that names a user gets what that user's JWT gets.
            guard phone != nil || credential.isService && credential.user == nil else { return .unknownInstallation }
            return .outdated(phone?.generation ?? 0)
        }
        guard let phone else { return Response(204) }
        var after = phone
        after.user = nil
        after.generation += 1
        phones[id] = nil
        snapshotUsers[id] = nil
        record(
            "deleted", "deletedByCaller", by: actors.name(credential), id, from: phone, to: after,
            previousUser: phone.user)
        return Response(204)
    }

    /// The night job ends the bindings of expired sessions (R7).
    mutating func expire(_ id: String, at moment: Moment) -> Response {
        guard let phone = phones[id], let expiresAt = phone.expiresAt, expiresAt <= moment.received else {
            return Response(200)
        }
        unbind(id, "sessionEnded", "sessionExpired", by: Self.nightJob)
        return Response(200)
    }

    private static let nightJob = "job:cleanup"

    /// Deletes the user's installations, and those that no other user registered after the user left them.
    mutating func erase(_ user: String, at moment: Moment) -> Response {
        endSessions(of: user, except: nil, at: moment)
        let leaving = phones.filter { id, phone in
            phone.user == user || phone.user == nil && phone.state != "active" && registrants[id] == user
        }
        let events = forget(user)
        registrants = registrants.filter { $0.value != user }
        for (id, phone) in leaving {
            phones[id] = nil
            snapshotUsers[id] = nil
            record("erased", "userErased", by: actors.service, id, from: phone, to: phone.unbound(), previousUser: nil)
        }
        return Response(
            200,
            [
                "userId": .text(user), "installations": .number(Int64(leaving.count)), "events": .number(events),
                "snapshots": .number(leaving.values.reduce(forgetSnapshots(of: user)) { $0 + Int64($1.snapshots) }),
            ])
    }

    /// Removes the user's snapshots from installations of others. The newest one stays, without the user.
    ///
    /// - Returns: the number of removed snapshots.
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

    /// Removes the user from history.
    ///
    /// - Returns: the number of events with the user.
    private mutating func forget(_ user: String) -> Int64 {
        var count: Int64 = 0
        for id in history.keys {
            for index in history[id]?.indices ?? 0..<0 {
                guard let event = history[id]?[index], event.user == user || event.previousUser == user else {
                    continue
                }
                count += 1
                if event.user == user { history[id]?[index].user = nil }
                if event.previousUser == user { history[id]?[index].previousUser = nil }
            }
        }
        return count
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
        after.typed = [:]
        if state == "active", !keepsActive { after.state = "loggedOut" }
        return after
    }
}
