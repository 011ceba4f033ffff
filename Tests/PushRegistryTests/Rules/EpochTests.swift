import Testing

@testable import PushRegistry

@Suite("An epoch of notifications ends with its owner, and none comes back (fine print 61, 65, 104)")
struct EpochTests {
    private static let token = "t"

    private func registered(
        _ registrations: Registration..., from first: [Installation] = []
    ) throws -> [InstallationKey: Installation] {
        var installations = Dictionary(uniqueKeysWithValues: first.map { ($0.key, $0) })
        for (second, registration) in registrations.enumerated() {
            let number = 100 + Int64(second)
            var locked = LockedInstallations(Array(installations.values), now: .at(number), number: number)
            let outcome = try locked.register(registration)
            for (_, after) in locked.changed { installations[after.key] = after }
            #expect(outcome.epoch == installations[registration.key]?.epoch)
        }
        return installations
    }

    private func epoch(_ registrations: Registration...) throws -> Int64? {
        var installations: [InstallationKey: Installation] = [:]
        for registration in registrations {
            installations = try registered(registration, from: Array(installations.values))
        }
        return installations[.make("phone")]?.epoch
    }

    @Test func epoch_beginsWithTheInstallation() throws {
        #expect(try epoch(.make()) == Installation.firstGeneration(100))
    }

    @Test func rotation_andAnotherSession_keepTheEpoch() throws {
        let first = Registration.make(owner: .make("alice", session: "1"))
        let begun = try epoch(first)
        #expect(try epoch(first, .make(token: "u", owner: .make("alice", session: "1"))) == begun)
        #expect(try epoch(first, .make(owner: .make("alice", session: "2"))) == begun)
    }

    @Test func everyChangeOfTheOwner_beginsAnEpoch() throws {
        let anonymous = Registration.make()
        let begun = try #require(try epoch(anonymous))
        #expect(try epoch(anonymous, .make(owner: .make("alice"))) == begun + 1)
        #expect(try epoch(anonymous, .make(owner: .make("alice")), .make(owner: .make("bob"))) == begun + 2)
        #expect(try epoch(anonymous, .make(owner: .make("alice")), .make()) == begun + 2)
    }

    @Test func takeover_endsTheEpochOfTheFormerHolder_only() throws {
        let mine = Registration.make("A", token: Self.token, owner: .make("alice"))
        let before = try registered(mine, .make("B", token: "u", owner: .make("bob")))
        let after = try registered(
            .make("B", token: Self.token, owner: .make("bob")), from: Array(before.values))
        #expect(after[.make("A")]?.epoch == after[.make("A")]?.generation)
        #expect(after[.make("A")]?.epoch != before[.make("A")]?.epoch)
        #expect(after[.make("B")]?.epoch == before[.make("B")]?.epoch)
    }

    @Test(arguments: [true, false]) func logout_endsTheEpoch(_ keepsAnonymous: Bool) throws {
        let phone = try #require(try registered(.make(owner: .make("alice")))[.make("phone")])
        let logout = Logout(
            key: phone.key, requester: .service, keepsAnonymous: keepsAnonymous, precondition: nil,
            actor: "service:test")
        let after = try #require(try logout.decision(on: phone, at: .at(200)).after)
        #expect(after.epoch == after.generation && after.epoch > phone.epoch)
        let again = try registered(.make(owner: .make("alice")), from: [after])[.make("phone")]
        #expect(again?.epoch == after.generation + 1)
    }

    @Test func endOfASession_endsTheEpoch() throws {
        let owner = Owner.make("alice", session: "s")
        let phone = try #require(try registered(.make(owner: owner))[.make("phone")])
        let end = SessionEnd(app: phone.key.app, scope: .user(owner.userID, except: nil), actor: "service:test")
        #expect(end.outcome(for: phone, at: .at(200))?.after.epoch == phone.generation + 1)
    }
}
