import Basics
import PushRegistry
import RegistryStore

extension TestStores {
    /// A catalogue of topics that are in and out by default; the last one is locked.
    func makeTopics(_ count: Int) async throws -> TopicCatalogue {
        let store = PostgresTopicStore(LoopResources(postgres: postgres))
        var topics: [Topic] = []
        for number in 1...count {
            let isLocked = number == count
            let content = try Topic.Content(
                name: "Topic", description: nil, category: nil, isInByDefault: isLocked || number % 2 == 0,
                isLocked: isLocked)
            topics.append(try await store.put(TopicSlug("t\(number)"), content, in: app.number).topic)
        }
        return TopicCatalogue(topics)
    }

    /// Makes choices for half of the installations.
    ///
    /// - Parameter progress: called before each installation with its number.
    func choose(
        _ topics: [Topic], for fleet: [FleetMember], _ dice: inout SeededGenerator,
        _ progress: (Int) async throws -> Void
    ) async throws -> [InstallID: TopicChoices] {
        let store = PostgresTopicStore(LoopResources(postgres: postgres))
        async let _ = store.run()
        var choices: [InstallID: TopicChoices] = [:]
        for (number, member) in fleet.enumerated() {
            try await progress(number)
            guard dice.isTrue(0.5) else { continue }
            let changes = topics.filter { _ in dice.isTrue(0.5) }.map { TopicChange($0, dice.isTrue(0.5)) }
            let patch = TopicsPatch(changes, of: app, credential: nil, actor: "service:test")
            let key = InstallationKey(app: app.number, installID: member.installID)
            choices[member.installID] = try await store.apply(patch, to: key, for: .service).merged
        }
        return choices
    }
}
