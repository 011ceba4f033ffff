/// Every statement of the store, by topic: the lists that stand beside the statements.
public enum StatementCatalog {
    public static let topics = requests + background + jobs

    private static let requests = [
        StatementTopic("registration", "Registrations of installations", [RegistrationStatements.named]),
        StatementTopic(
            "guards", "Users and sessions that were logged out", [LockBucketStatements.named, GuardStatements.named]),
        StatementTopic("tokens", "The holders of tokens", [HolderStatements.named]),
        StatementTopic("changes", "Changed installations, whoever changes them", [ChangeStatements.named]),
        StatementTopic("owners", "The bindings of installations to users", [OwnerStatements.named]),
        StatementTopic("snapshots", "Replaced snapshots", [SnapshotStatements.named]),
        StatementTopic("installations", "Single installations", [InstallationStatements.named]),
        StatementTopic("users", "Users", [UserStatements.named, CredentialStatements.named]),
        StatementTopic("feedback", "Feedback of the providers", [FeedbackStatements.named]),
        StatementTopic("events", "History and the change feed", [EventStatements.named]),
        StatementTopic(
            "audience", "Audiences",
            [
                AudienceSessionStatements.named, CubeStatements.named, AudienceStatements.named,
                KnownValueStatements.named,
            ],
            sessions: .ordinary),
        StatementTopic("notifications", "Numbered notifications", [NotificationStatements.named]),
        StatementTopic("segments", "Saved filters", [SegmentStatements.named]),
        StatementTopic(
            "topics", "Topics and choices",
            [TopicCatalogueStatements.named, TopicChoiceStatements.named, TopicsEventStatements.named]),
        StatementTopic(
            "directory", "Apps and API keys", [DirectoryStatements.named, SigningKeyStatements.named]),
        StatementTopic(
            "messages", "Messages, receipts and their sums",
            [MessageStatements.named, ReceiptStatements.named, MessageSumStatements.named]),
        StatementTopic(
            "console", "Sessions of the console, and runs of the night job",
            [ConsoleSessionStatements.named, CleanUpRunStatements.named]),
        StatementTopic(
            "cells", "Cells and deltas of the roll-up",
            [RollUpCellStatements.named, DatabaseIdentityStatements.named, RollUpDeltaStatements.named]),
    ]

    private static let background = [
        StatementTopic(
            "service", "Background tasks of a service, probes and metrics",
            [
                ServiceStatements.named, LockTimeoutStatements.named,
                GaugeStatements.named,
            ]),
        StatementTopic(
            "rollup", "Folding deltas into the roll-up", [RollUpStatements.named, RollUpPreparationStatements.named],
            sessions: .ordinary),
        StatementTopic(
            "partitions", "The partitions of history", [HistoryPartitionStatements.named], sessions: .ordinary),
        StatementTopic(
            "receipts", "The partitions of receipts", [MessagePartitionStatements.named], sessions: .ordinary),
    ]

    private static let jobs = [
        StatementTopic(
            "distribution", "Distribution over the nodes of a Citus cluster", [DistributionStatements.named],
            sessions: .ordinary),
        StatementTopic(
            "cleanup", "push-registry cleanup, the night job",
            [CleanUpStatements.named, OldRows.named, DeletedTopicStatements.named], sessions: .ordinary),
        StatementTopic(
            "runs", "The records of the night job's runs", [CleanUpLedgerStatements.named], sessions: .ordinary),
        StatementTopic("import", "push-registry import", [ImportStatements.named], sessions: .ordinary),
        StatementTopic(
            "rebuild", "push-registry rebuild-rollup", [RollUpRebuildStatements.named], sessions: .ordinary),
        StatementTopic("verify", "push-registry verify", [VerifierStatements.named], sessions: .ordinary),
        StatementTopic(
            "fleet", "Fleets that the benchmark generates", [LoadedInstallationStatements.named], sessions: .ordinary),
    ]
}
