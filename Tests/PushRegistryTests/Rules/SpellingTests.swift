import Testing

@testable import PushRegistry

private let fid = "dQw4w9WgXcQ-_0123456789".prefix(22).description

@Suite("The spellings of a Firebase installation id are one token (R1)")
struct SpellingTests {
    @Test(arguments: [
        (fid, fid, AddressKind.fid), ("\(fid):APA91b_x", fid, .token), ("\(fid):", fid, .token),
        ("\(fid):a:b", fid, .token), ("\(fid)x", "", .token), (String(fid.dropLast()), "", .token),
        ("\(fid.dropLast()).", "", .token), ("g\(fid.dropFirst())", "", .token), ("b\(fid.dropFirst())", "", .token),
        ("C\(fid.dropFirst())", "", .token), (":\(fid)", "", .token), ("short:\(fid)", "", .token),
        ("\(fid)~APA91b", "", .token), ("f\(fid.dropFirst()):x", "f\(fid.dropFirst())", .token),
    ])
    func address_isTheInstallationID_whereTheTokenHasOne(text: String, address: String, kind: AddressKind) throws {
        let token = try Token(text, of: .fcm)
        #expect(token.address == (address.isEmpty ? text : address))
        #expect(token.addressKind == kind && (token.spelling == nil) == address.isEmpty)
        let huawei = try Token(text, of: .huawei)
        #expect(huawei.address == text && huawei.addressKind == .token && huawei.spelling == nil)
    }

    @Test func kinds_ofOtherProviders_dependOnTheProviderAlone() throws {
        #expect(try Token("0123456789abcdef", of: .apns).addressKind == .token)
        #expect(try Token("0123456789abcdef", of: .apnsSandbox).addressKind == .token)
        #expect(try Token("https://push.example/\(fid)", of: .webPush).addressKind == .subscription)
    }

    /// An installation that has registered a spelling of the id, as the next registration finds it.
    private func registered(
        _ installID: String = "phone", _ token: String = fid, as owner: Owner? = nil, at second: Int64 = 1
    ) throws -> Installation {
        var locked = LockedInstallations([], now: .at(second), number: second)
        _ = try locked.register(.make(installID, token: token, owner: owner))
        return try #require(locked[.make(installID)])
    }

    /// The second part changes when Firebase renews a token.
    @Test func anotherSecondPart_isAnotherSpelling() throws {
        var locked = LockedInstallations([try registered("phone", "\(fid):a")], now: .at(2), number: 2)
        #expect(try locked.register(.make(token: "\(fid):b")).status == .updated)
        #expect(locked.events.map(\.reason) == [.respelled])
    }

    @Test func spelling_isNamed_onlyIfNothingElseMoves() throws {
        let phone = try registered(as: .make("alice", session: "s1"))
        func reason(_ token: String, _ owner: Owner?) throws -> TokenEvent? {
            var locked = LockedInstallations([phone], now: .at(2), number: 2)
            _ = try locked.register(.make(token: token, owner: owner))
            return locked.events.only
        }
        let other = "\(fid):APA91b"
        let user = try #require(try reason(other, .make("bob")))
        #expect(user.kind == .takenOver && user.reason == .ownerChanged)
        let session = try #require(try reason(other, .make("alice", session: "s2")))
        #expect(session.kind == .registered && session.reason == .sessionChanged)
        #expect(try reason("f\(other.dropFirst())", .make("alice", session: "s1"))?.reason == .tokenChanged)
        #expect(try reason(other, .make("alice", session: "s1"))?.reason == .respelled)
    }

    @Test func spelling_isRotated_alsoIfTheOldOneWasReportedDead() throws {
        var phone = try registered()
        phone.state = .unregistered
        var locked = LockedInstallations([phone], now: .at(2), number: 2)
        #expect(try locked.register(.make(token: "\(fid):APA91b")).state == .active)
        #expect(locked.events.map(\.kind) == [.rotated] && locked.events[0].reason == .respelled)
    }
}

@Suite("A token that was registered before addresses had spellings gets its address (R1, R4)")
struct ReaddressingTests {
    /// A row of an earlier version: its digest is of the whole text.
    private func old(
        _ installID: String, _ token: String, seenAt second: Int64, topics: [TopicChange] = []
    ) throws -> Installation {
        var locked = LockedInstallations([], now: .at(second), number: second)
        _ = try locked.register(.make(installID, token: token, owner: .make("alice"), topics: topics))
        var installation = try #require(locked[.make(installID)])
        installation.tokenSHA256 = toyDigest(Array(token.utf8))
        return installation
    }

    private func readdress(_ installations: [Installation], _ names: [String]) -> LockedInstallations {
        var locked = LockedInstallations(installations, now: .at(9), number: 9)
        for name in names {
            locked.readdress(.make(name), by: "job:test", in: App.make().topics, sha256: toyDigest)
        }
        return locked
    }

    private let digest = toyDigest(Array(fid.utf8))

    /// Whichever is looked at first, and whether or not one has its address already.
    @Test(arguments: [["a", "b"], ["b", "a"]], [false, true])
    func newerRegistration_keepsTheAddress(order: [String], isFirstDone: Bool) throws {
        var (first, second) = (try old("a", "\(fid):a", seenAt: 1), try old("b", "\(fid):b", seenAt: 2))
        if isFirstDone { first.tokenSHA256 = digest }
        for swapped in [false, true] {
            if swapped { (first.lastSeenAt, second.lastSeenAt) = (second.lastSeenAt, first.lastSeenAt) }
            let locked = readdress([first, second], order)
            let (kept, lost) = swapped ? ("a", "b") : ("b", "a")
            #expect(locked[.make(kept)]?.tokenSHA256 == digest && locked[.make(kept)]?.state == .active)
            let former = try #require(locked[.make(lost)])
            #expect(former.tokenSHA256 == nil && former.state == .superseded)
            let event = try #require(locked.events.only)
            #expect(event.key == .make(lost) && event.kind == .superseded && event.reason == .tokenMoved)
            #expect(event.tokenSHA256 == digest && event.actor == "job:test")
        }
    }

    @Test func choices_endWithTheToken() throws {
        let choice = TopicChange(App.make().topics.topics[0], true)
        let first = try old("a", "\(fid):a", seenAt: 1, topics: [choice])
        let locked = readdress([first, try old("b", "\(fid):b", seenAt: 2)], ["a", "b"])
        #expect(locked[.make("a")]?.topicChoices.isEmpty == true && locked.topicsEvents.count == 1)
    }

    /// Between an upgrade and the end of the job.
    @Test func sameText_isNoOtherToken_whereTheRowHasNoAddress() throws {
        let phone = try old("phone", "\(fid):a", seenAt: 1)
        var locked = LockedInstallations([phone], now: .at(2), number: 2)
        #expect(try locked.register(.make(token: "\(fid):a", owner: .make("alice"))).status == .updated)
        #expect(locked.events.map(\.reason) == [.respelled])
        #expect(locked[.make("phone")]?.tokenSHA256 == digest)
    }
}

extension Array {
    fileprivate var only: Element? { count == 1 ? first : nil }
}
