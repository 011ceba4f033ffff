import PostgresClient
import PushRegistry

/// The writes of a transaction that changes choices: the installations, the events and the counts.
struct TopicsWrite {
    let app: AppNumber
    let moment: Moment
    private var changed: [Installation] = []
    private(set) var events: [TopicsEvent] = []
    private var delta = RollUpDelta()

    init(in app: AppNumber, at moment: Moment) {
        (self.app, self.moment) = (app, moment)
    }

    mutating func add(_ before: StoredInstallation, _ after: Installation, _ event: TopicsEvent? = nil) {
        changed.append(after)
        delta.add(before.installation, in: before.cell, step: -1)
        delta.add(after, in: before.cell, step: 1)
        if let event { events.append(event) }
    }

    mutating func add(_ event: TopicsEvent) {
        events.append(event)
    }

    var records: EventRecords { EventRecords([], events, in: app, at: moment.position) }

    /// All but the events.
    var statements: [PostgresStatement] {
        [
            changed.isEmpty ? nil : TopicChoiceStatements.write(changed, in: app), delta.statement(in: app),
        ].compactMap(\.self)
    }
}

extension ResolvedTopics {
    init(_ installation: Installation) {
        self.init(own: installation.topicChoices, merged: installation.topics)
    }
}
