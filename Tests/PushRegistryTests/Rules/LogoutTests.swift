import Testing

@testable import PushRegistry

@Suite("A logout unbinds its own binding, however late, and never another's (R6)")
struct LogoutTests {
    @Test func logout_unbinds_whenItIsOfTheBinding() throws {
        let decision = try decide(.of("alice", "s"), on: .bound("alice", "s"))
        #expect(decision.status == .loggedOut)
        #expect(decision.after?.owner == nil && decision.after?.state == .loggedOut)
        #expect(decision.generation == 8 && decision.after?.tokenSHA256 == [1])
        #expect(decision.event?.kind == .loggedOut && decision.event?.previousUserID?.rawValue == "alice")
        #expect(decision.tombstones.map(\.sessionID?.rawValue) == ["s"])
    }

    @Test func logout_leavesTheInstallationActive_whenItKeepsAnonymous() throws {
        let decision = try decide(.of("alice"), on: .bound("alice", "s"), keepsAnonymous: true)
        #expect(decision.after?.state == .active && decision.after?.owner == nil)
    }

    @Test(arguments: [
        Logout.Initiator.of("bob"), .of("alice", "old"), .of("alice", issuedAt: 99), .of("bob", "s"),
    ])
    func logout_isARecordedNoOp_whenSomebodyElseIsBound(requester: Logout.Initiator) throws {
        let decision = try decide(requester, on: .bound("alice", "s", credentialIssuedAt: 100))
        #expect(decision.status == .outdated && decision.after == nil)
        let isAlice = if case .user(let owner, _) = requester { owner.userID.rawValue == "alice" } else { false }
        #expect(decision.generation == (isAlice ? 7 : nil))
        #expect(decision.event?.kind == .logoutIgnored)
        #expect(decision.event?.generationBefore == 7 && decision.event?.generationAfter == 7)
    }

    @Test func logout_isOutdated_withAnOlderGeneration_andItsSessionGoesOn() throws {
        let decision = try decide(.of("alice", "s"), on: .bound("alice", "s"), ifMatch: 6)
        #expect(decision.status == .outdated && decision.tombstones.isEmpty)
    }

    @Test func lateLogout_stillEndsItsOwnSession() throws {
        let decision = try decide(.of("alice", "old"), on: .bound("bob", "new"))
        #expect(decision.tombstones.map(\.sessionID?.rawValue) == ["old"])
        #expect(decision.tombstones.map(\.userID.rawValue) == ["alice"])
    }

    /// Alice's logout comes after Bob's sign-in: what she sent before it must not take the phone from him.
    @Test func lateLogout_withoutASession_endsTheUsersEarlierCredentials() throws {
        let decision = try decide(.of("alice", issuedAt: 99), on: .bound("bob", "new"))
        #expect(decision.tombstones.map(\.sessionID) == [nil])
        #expect(decision.tombstones.map(\.userID.rawValue) == ["alice"])
    }

    @Test(arguments: [nil, "new"])
    func lateLogout_withoutASession_sparesTheUsersLaterSignIn(session: String?) throws {
        let bound = Installation.bound("alice", session, credentialIssuedAt: 100)
        let decision = try decide(.of("alice", issuedAt: 99), on: bound)
        #expect(decision.status == .outdated && decision.tombstones.isEmpty)
        #expect(try decide(.of("alice"), on: bound, ifMatch: 6).tombstones.isEmpty)
    }

    @Test func logout_isDoneAlready_whenNobodyIsBound_whateverTheGeneration() throws {
        let decision = try decide(.of("alice"), on: .bound(nil), ifMatch: 3)
        #expect(decision.status == .alreadyLoggedOut && decision.event == nil)
        #expect(decision.tombstones.count == 1)
    }

    @Test func anonymousInstallation_isClosed_byACallerWithoutAUser() throws {
        #expect(try decide(.anonymous, on: .bound(nil)).after?.state == .loggedOut)
        #expect(try decide(.service, on: .bound(nil)).after?.state == .loggedOut)
        #expect(try decide(.anonymous, on: .bound(nil), keepsAnonymous: true).status == .alreadyLoggedOut)
        #expect(try decide(.anonymous, on: .bound(nil, state: .loggedOut)).status == .alreadyLoggedOut)
    }

    @Test func publishableKey_requiresThePresentDeliveryKey_onAnOwnedInstallation() throws {
        let bound = Installation.bound("alice")
        #expect(throws: Logout.Refusal.unproven) { try decide(.anonymous, on: bound) }
        #expect(throws: Logout.Refusal.unproven) { try decide(.anonymous, on: bound, ifMatch: 7) }
        #expect(throws: Logout.Refusal.unproven) { try decide(.anonymous, on: bound, keyOf: bound.epoch - 1) }
        #expect(try decide(.anonymous, on: bound, keyOf: bound.epoch).status == .loggedOut)
    }

    @Test func deadToken_staysDead() throws {
        let decision = try decide(.of("alice"), on: .bound("alice", state: .unregistered))
        #expect(decision.after?.state == .unregistered && decision.after?.owner == nil)
    }

    @Test func unknownInstallation_isNotFound_toTheBackEndAlone() throws {
        #expect(throws: Logout.Refusal.notFound) { try decide(.service, on: nil) }
        #expect(throws: Logout.Refusal.notFound) { try decide(.of("alice"), by: .service, on: nil) }
        #expect(throws: Logout.Refusal.unproven) { try decide(.anonymous, on: nil, ifMatch: 7) }
        let decision = try decide(.of("alice"), on: nil)
        #expect(decision.status == .outdated && decision.generation == nil && decision.tombstones.isEmpty)
    }

    @Test func generation_isShownToTheBackEnd_forEveryUserItNames() throws {
        #expect(try decide(.of("bob"), by: .service, on: .bound("alice")).generation == 7)
        #expect(try decide(.of("bob"), on: .bound("alice")).generation == nil)
    }

    private func decide(
        _ requester: Logout.Initiator, by reader: Requester? = nil, on present: Installation?,
        keepsAnonymous: Bool = false, ifMatch: Int64? = nil, keyOf epoch: Int64? = nil
    ) throws -> Logout.Decision {
        let logout = Logout(
            key: try .phone, requester: requester, reader: reader, keepsAnonymous: keepsAnonymous,
            precondition: ifMatch.map { .generation([$0]) },
            proof: epoch.map { epoch in DeliveryProof { $0 == epoch } }, actor: "test")
        return try logout.decision(on: present, at: Timestamp(microseconds: 500_000_000))
    }
}

@Suite("A logout refuses credentials that may be older, whatever the issuer's clock shows (fine print 16)")
struct LogoutTimeTests {
    /// Seconds: the logout is at 100.
    @Test(arguments: [
        (issuedAt: 99, receivedAt: 100, isRefused: true), (129, 101, true), (129, 129, true), (129, 3_600, true),
        (130, 130, false), (130, 131, false), (131, 131, false), (160, 131, true), (189, 159, true),
        (189, 160, false), (190, 3_600, false),
    ])
    func credential_isRefused(issuedAt: Int64, receivedAt: Int64, isRefused: Bool) {
        let app = AppNumber(1)
        let owner = Owner.make("alice")
        for isEverywhere in [true, false] {
            var tombstones = Tombstones()
            if isEverywhere {
                tombstones.users[.init(app: app, userID: owner.userID)] = .init(time: .at(100), number: 1)
            } else {
                tombstones.installations[.init(key: .make("phone"), userID: owner.userID, sessionID: nil)] = .at(100)
            }
            let credential = UserCredential(owner: owner, issuedAt: .at(issuedAt))
            let hasEnded = tombstones.hasEnded(
                credential, on: .make("phone"), in: app, remembering: .days(1), at: .at(receivedAt))
            #expect(hasEnded == isRefused, "issued at \(issuedAt), received at \(receivedAt), \(isEverywhere)")
        }
    }
}

@Suite("The end of a session unbinds only its own installations (R7)")
struct SessionEndTests {
    @Test func sessionEnd_concernsItsInstallations_only() throws {
        #expect(outcome(.session(try SessionID("s")), .bound("alice", "s"))?.event.kind == .sessionEnded)
        #expect(outcome(.session(try SessionID("s")), .bound("alice", "t")) == nil)
        #expect(outcome(.session(try SessionID("s")), .bound(nil)) == nil)
    }

    @Test func userLogout_sparesTheExceptedSession() throws {
        let scope = SessionEnd.Scope.user(try UserID("alice"), except: try SessionID("s"))
        #expect(outcome(scope, .bound("alice", "s")) == nil)
        #expect(outcome(scope, .bound("alice", "t"))?.after.owner == nil)
        #expect(outcome(scope, .bound("alice"))?.event.reason == .userLoggedOut)
        #expect(outcome(scope, .bound("bob", "t")) == nil)
    }

    private func outcome(
        _ scope: SessionEnd.Scope, _ present: Installation
    ) -> (after: Installation, event: TokenEvent)? {
        SessionEnd(app: AppNumber(1), scope: scope, actor: "test").outcome(for: present, at: Timestamp(microseconds: 9))
    }
}

extension Logout.Initiator {
    fileprivate static func of(_ user: String, _ session: String? = nil, issuedAt: Int64? = nil) -> Self {
        .user(.of(user, session), credentialIssuedAt: issuedAt.flatMap { Timestamp(seconds: $0) })
    }
}

extension Owner {
    fileprivate static func of(_ user: String, _ session: String?) -> Owner {
        guard let userID = try? UserID(user) else { preconditionFailure("\(user) is no user id") }
        let sessionID = session.flatMap { try? SessionID($0) }
        return Owner(userID: userID, session: sessionID.map { Owner.Session(id: $0, expiresAt: nil) })
    }
}

extension InstallationKey {
    fileprivate static var phone: InstallationKey {
        get throws { InstallationKey(app: AppNumber(1), installID: try InstallID("phone")) }
    }
}

extension Installation {
    /// An installation at generation 7.
    fileprivate static func bound(
        _ user: String?, _ session: String? = nil, state: InstallationState = .active, credentialIssuedAt: Int64? = nil
    ) -> Installation {
        guard let key = try? InstallationKey.phone else { preconditionFailure("phone is an install id") }
        let then = Timestamp(microseconds: 100_000_000)
        return Installation(
            key: key, provider: .apns, tokenSHA256: [1], keys: nil, owner: user.map { .of($0, session) },
            credentialIssuedAt: credentialIssuedAt.flatMap { Timestamp(seconds: $0) }, state: state, generation: 7,
            registrationGeneration: 7, epoch: 7, probablyReplacedBy: nil, createdAt: then, registeredAt: then,
            lastSeenAt: then, stateChangedAt: then, snapshotDigest: [], fingerprint: nil)
    }
}
