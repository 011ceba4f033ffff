import Telemetry

/// Every metric of the service. The page Monitoring has these rows; alerts and panels use these names, with the prefix.
enum MetricDescriptions {
    static var configuration: PrometheusConfiguration {
        var configuration = PrometheusConfiguration(descriptions: all)
        configuration.prefix = "push_registry_"
        return configuration
    }

    static let all: [MetricDescription] =
        RequestMetrics.descriptions + connections + batches + registry + PrometheusRegistry.ownDescriptions

    private static let connections = [
        MetricDescription(
            "jwks_fetches_total", .counter,
            "Fetches of key sets (`jwksURL`) by this process, by `app` and `result`: `ok` or `failed`."),
        MetricDescription("http_connections", .gauge, "Open connections, of `--connections-max`. Saturation."),
        MetricDescription(
            "postgres_duration_seconds", .histogram,
            "From the request for a connection to the last result, by `pool` and `kind` (`unit`, `transaction`). "
                + "Latency, and by its count traffic."),
        MetricDescription(
            "postgres_errors_total", .counter,
            "By `pool` and `kind`: `unavailable`, `connectionLost`, `tooManyConnections`, `diskFull`, `timeout`, "
                + "`queueFull`, `deadlock`…"),
        MetricDescription(
            "postgres_pool_connections", .gauge,
            "Connections, by `pool`: `loop-0` registrations and all other calls, `loop-0-audiences`, `folding`, "
                + "`gauges`."),
        MetricDescription(
            "postgres_pool_waiting", .gauge, "Tasks that wait for a connection, by `pool`. Saturation."),
    ]

    /// Of writes that share transactions.
    private static let batches = [
        ("registration", "Registrations"), ("logout", "Logouts"),
        ("installation_topics", "Changes of choices on installations"),
        ("user_topics", "Changes of users' choices"), ("receipt", "Calls with counts of messages"),
        ("notification", "Posts of notifications"), ("notification_fetch", "Fetches of notifications"),
    ].flatMap { kind, writes in
        [
            MetricDescription(
                "\(kind)_batch_size", .histogram,
                "\(writes) that shared a round trip, by `stage`: `lookUp` or `write`. It grows with the load."),
            MetricDescription(
                "\(kind)_batch_splits_total", .counter,
                "\(writes): batches that were repeated in parts, because one of them failed or met a lock."),
            MetricDescription(
                "\(kind)_refused_total", .counter,
                "\(writes) that were refused: the queue was full, the wait too long, or the service was stopping."),
        ]
    }

    private static let registry = [
        MetricDescription(
            "receipts_total", .counter,
            "Receipts that apps and service workers reported, by `result` (`accepted`, `duplicate`, `expired`, "
                + "`invalid`)."),
        MetricDescription(
            "message_fold_failures_total", .counter,
            "Folds of the sums of messages that failed, one app's or a round's. Counts stay exact, and become slower."),
        MetricDescription(
            "notifications_total", .counter,
            "Notifications of posts, by `result`: `stored`, `repeated` (the same `dedupId`), `dropped` (more than "
                + "`notificationsMax` waited). Many dropped ones mean that apps do not fetch."),
        MetricDescription(
            "feedback_held_total", .counter,
            "Dead verdicts that the breaker for feedback held, by `provider`: too many came within an hour. Alert on "
                + "any."),
        MetricDescription(
            "changes_total", .counter,
            "Changes written to the history by this process, by `event` and `reason`."),
        MetricDescription(
            "typed_tokens_removed_total", .counter,
            "Typed tokens, such as those of Live Activities, that providers' verdicts removed, by `kind`."),
        MetricDescription(
            "active_installations", .gauge,
            "Active installations by `app` and `provider`, read every 15 seconds. Every process reports the same: "
                + "take the maximum."),
        MetricDescription(
            "unusable_policies", .gauge,
            "Apps whose stored policy this version cannot use: their calls get 503. Every process reports the same."),
        MetricDescription(
            "cleanup_last_finished_timestamp_seconds", .gauge,
            "When the last night job over all apps finished, in Unix time, read every 15 seconds like the next four."),
        MetricDescription("cleanup_last_duration_seconds", .gauge, "How long that run took."),
        MetricDescription(
            "cleanup_last_refused_apps", .gauge,
            "Apps that it skipped, because it would have retired too large a share of their active installations."),
        MetricDescription(
            "cleanup_last_installations", .gauge, "Installations that it changed, by `app` and `step`."),
        MetricDescription(
            "cleanup_last_typed_tokens", .gauge, "Expired typed tokens that it deleted, by `app`."),
        MetricDescription(
            "rollup_deltas_folded_total", .counter, "Deltas that this process folded into the roll-up."),
        MetricDescription(
            "rollup_fold_failures_total", .counter,
            "Folds that failed, one app's or a round's. Counts stay exact, and become slower."),
    ]
}
