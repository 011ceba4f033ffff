import Testing

@testable import PushRegistry

extension Topic {
    /// - Parameter number: any positive number; its text is the slug.
    static func make(_ number: Int32, isIn: Bool = true, isLocked: Bool = false) throws -> Topic {
        Topic(
            number: TopicNumber(number), slug: try TopicSlug("t\(number)"),
            content: try Content(
                name: "Topic", description: nil, category: nil, isInByDefault: isIn, isLocked: isLocked))
    }
}

@Suite("The choice on the installation decides, else the user's, else the default (fine print 47, 82, 86)")
struct TopicChoicesTests {
    @Test(arguments: [
        ([], [], true, "default"), ([], [-1], false, "user"), ([], [1], true, "user"),
        ([1], [-1], true, "installation"), ([-1], [1], false, "installation"), ([2], [-1], false, "user"),
    ])
    func choice_isResolved(own: [Int32], user: [Int32], isSubscribed: Bool, origin: String) throws {
        let own = TopicChoices(codes: own)
        let resolved = ResolvedTopics(own: own, merged: own.over(TopicChoices(codes: user)))
        let shown = resolved.subscriptions(in: TopicCatalogue([try .make(1), try .make(9, isIn: false)]))
        #expect(shown.map(\.topic.slug.rawValue) == ["t1", "t9"])
        #expect(shown[0].isSubscribed == isSubscribed && shown[0].origin.rawValue == origin)
        #expect(!shown[1].isSubscribed && shown[1].origin == .default)
    }

    @Test func choice_isStored_evenIfItEqualsTheDefault() throws {
        var choices = TopicChoices()
        #expect(choices.apply([TopicChange(try .make(1), true)]).map(\.rawValue) == ["t1"])
        #expect(choices.codes == [1])
        let nowOut = ResolvedTopics(user: choices).subscriptions(in: TopicCatalogue([try .make(1, isIn: false)]))
        #expect(nowOut[0].isSubscribed)
        #expect(choices.apply([TopicChange(try .make(1), nil), TopicChange(try .make(2), nil)]).count == 1)
        #expect(choices.isEmpty)
    }

    @Test func patch_returnsChangedTopics_andDropsDeletedOnes() throws {
        let app = App(
            number: AppNumber(1), id: try AppID("a"), policy: .standard,
            topics: TopicCatalogue([try .make(1), try .make(3), try .make(4)]))
        let patch = TopicsPatch(
            [TopicChange(try .make(3), false), TopicChange(try .make(1), true)], of: app, credential: nil, actor: "a")
        // Topic 2 was deleted; topic 7 is newer than this catalogue.
        let (after, changed) = patch.applied(to: TopicChoices(codes: [1, -2, 7]))
        #expect(changed.map(\.rawValue) == ["t3"] && after.codes == [-3, 1, 7])
        let (same, nothing) = patch.applied(to: TopicChoices(codes: [1, -2, -3]))
        #expect(nothing.isEmpty && same.codes == [-3, -2, 1])
    }

    @Test(arguments: ["", "a/b", "News", "ä", ".", "..", String(repeating: "a", count: 65)])
    func slug_isRefused_whenItIsInvalid(text: String) {
        #expect(throws: InvalidValue.self) { try TopicSlug(text) }
    }
}

@Suite("Choices on an installation end with its owner (fine print 47, 49, 83, 88)")
struct TopicResetTests {
    private func register(
        _ registrations: [Registration], on present: [Installation] = [],
        inheriting choices: [UserID: TopicChoices] = [:]
    ) throws -> LockedInstallations {
        var locked = LockedInstallations(present, userChoices: choices, now: .at(10), number: 10)
        for registration in registrations { _ = try locked.register(registration) }
        return locked
    }

    private func phone(_ user: String? = nil, choices: [Int32], inherited: [Int32] = []) throws -> Installation {
        var phone = try #require(try register([.make("phone", owner: user.map { .make($0) })])[.make("phone")])
        phone.topicChoices = TopicChoices(codes: choices)
        phone.topics = phone.topicChoices.over(TopicChoices(codes: inherited))
        return phone
    }

    /// The events about topics are written after the others: their generations must not go back.
    @Test func reset_hasTheLastGeneration_whenTheLoserRegistersInTheSameBatch() throws {
        let alice = Owner.make("alice")
        let locked = try register(
            [.make("tablet", token: "token-of-phone", owner: alice), .make("phone", token: "new", owner: alice)],
            on: [try phone("alice", choices: [-1])])
        let steps = locked.events.filter { $0.key == .make("phone") }.map(\.generationAfter)
        #expect(steps.count == 2)
        #expect(locked.topicsEvents.map { $0.installation?.generation } == [steps.last])
    }

    @Test(arguments: [(nil, nil), (nil, "alice"), ("alice", nil), ("alice", "alice"), ("alice", "bob")])
    func importedInstallation_passesItsChoices_toTheFirstRegistrationOfTheApp(from: String?, to: String?) throws {
        var imported = try phone(from, choices: [-1, 2])
        imported.isImported = true
        let wanted: [Int32] = to == "bob" ? [3] : [-1, 2, 3]
        let own = [TopicChange(try .make(3), true)]
        for id in ["phone", "next"] {
            let first = Registration.make(id, token: "token-of-phone", owner: to.map { .make($0) }, topics: own)
            var locked = try register([first], on: [imported])
            #expect(locked[.make(id)]?.topicChoices.codes == wanted && locked[.make(id)]?.isImported == false)
            // The second one is a takeover like any other.
            let second = Registration.make("later", token: "token-of-phone", owner: to.map { .make($0) })
            _ = try locked.register(second)
            #expect(locked[.make("later")]?.topicChoices.isEmpty == true)
        }
    }
}
