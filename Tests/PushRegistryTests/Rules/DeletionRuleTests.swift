import Testing

@testable import PushRegistry

@Suite("A deletion needs access to the installation and a matching precondition")
struct DeletionRuleTests {
    private func installation(_ owner: Owner?) throws -> Installation {
        var locked = LockedInstallations([], now: .at(1), number: 1)
        _ = try locked.register(.make("phone", owner: owner))
        return try #require(locked[.make("phone")])
    }

    private func decision(
        by requester: Requester, on present: Installation?, precondition: Precondition? = nil
    ) -> Deletion.Decision {
        Deletion(key: .make("phone"), requester: requester, precondition: precondition, actor: "client:k")
            .decision(on: present, at: .at(2))
    }

    @Test(
        arguments: [
            (.service, "alice", true), (.service, nil, true), (.user(.make("alice")), "alice", true),
            (.user(.make("bob")), "alice", false), (.user(.make("alice")), nil, false), (.anonymous, nil, true),
            (.anonymous, "alice", false),
        ] as [(Requester, String?, Bool)])
    func deletion_dependsOnTheOwner(requester: Requester, owner: String?, isAllowed: Bool) throws {
        switch decision(by: requester, on: try installation(owner.map { .make($0) })) {
        case .delete(let event):
            #expect(isAllowed)
            #expect(event.kind == .deleted && event.actor == "client:k")
            #expect(event.generationAfter == event.generationBefore + 1)
            #expect(event.userID == nil && event.previousUserID?.rawValue == owner)
            #expect(event.tokenSHA256 != nil)
        case .refuse(let refusal):
            #expect(!isAllowed)
            #expect(refusal == .notFound)
        case .nothing: Issue.record("the installation exists")
        }
    }
}

@Suite("Reachable means active, in a valid session, and allowed")
struct ReachabilityTests {
    private func record(
        _ status: AuthorizationStatus, provider: Provider = .apns, state: InstallationState = .active,
        expiresAt: Timestamp? = nil
    ) throws -> InstallationRecord {
        var locked = LockedInstallations([], now: .at(1), number: 1)
        _ = try locked.register(.make("phone", owner: .make("alice", session: "s", until: expiresAt)))
        var installation = try #require(locked[.make("phone")])
        installation.provider = provider
        installation.state = state
        var settings = NotificationSettings()
        settings.authorizationStatus = status
        return InstallationRecord(
            installation: installation, token: nil, snapshot: Snapshot(settings: settings, device: .make()),
            readAt: .at(10))
    }

    @Test(arguments: AuthorizationStatus.allCases, Provider.allCases)
    func authorization_decides(status: AuthorizationStatus, provider: Provider) throws {
        let isAllowed = [.authorized, .provisional, .ephemeral].contains(status)
        let cannotTell = status == .unknown && ![.apns, .apnsSandbox].contains(provider)
        #expect(try record(status, provider: provider).isReachable == (isAllowed || cannotTell))
    }

    @Test(arguments: InstallationState.allCases)
    func onlyActive_isReachable(state: InstallationState) throws {
        #expect(try record(.authorized, state: state).isReachable == (state == .active))
    }

    @Test(arguments: [(9, false), (10, false), (11, true)] as [(Int64, Bool)])
    func session_endsAtItsExpiry(second: Int64, expected: Bool) throws {
        #expect(try record(.authorized, expiresAt: .at(second)).isReachable == expected)
    }
}
