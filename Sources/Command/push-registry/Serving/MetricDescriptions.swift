import Telemetry

/// The help text of each metric. A test checks that the page Operations lists every metric.
enum MetricDescriptions {
    static let all =
        RequestMetrics.descriptions + [
            MetricDescription(
                prefix: "cleanup_last_finished_timestamp_seconds",
                help: "When the night job last finished, in Unix time."),
            MetricDescription(prefix: "cleanup_last_duration_seconds", help: "Duration of the night job's last run."),
            MetricDescription(
                prefix: "cleanup_last_refused_apps",
                help: "Apps that the last run skipped because it would have retired too many of their installations."),
            MetricDescription(
                prefix: "cleanup_last_installations",
                help: "Installations that the last run changed, by app and step."),
            MetricDescription(
                prefix: "registry_unusable_policies", help: "Apps whose stored policy this version cannot use."),
            MetricDescription(
                prefix: "jwks_fetches_total", help: "Fetches of key sets (jwksURL), by app and result: ok or failed."),
            MetricDescription(prefix: "http_connections", help: "Open connections."),
            MetricDescription(
                prefix: "postgres_duration_seconds",
                help: "Time from requesting a connection to the last result, by pool and kind: unit or transaction.",
                buckets: PrometheusConfiguration.latencyBuckets),
            MetricDescription(prefix: "postgres_errors_total", help: "Errors of PostgreSQL, by pool and kind."),
            MetricDescription(prefix: "postgres_pool_connections", help: "Connections to PostgreSQL, by pool."),
            MetricDescription(prefix: "postgres_pool_waiting", help: "Tasks that wait for a connection, by pool."),
            MetricDescription(
                prefix: "logout_batch_size", help: "Logouts that shared a transaction.",
                buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            MetricDescription(
                prefix: "logout_batch_splits_total", help: "Batches of logouts that were repeated in parts."),
            MetricDescription(
                prefix: "logout_refused_total", help: "Logouts refused: the queue was full, or the wait too long."),
            MetricDescription(prefix: "receipts_total", help: "Receipts that were reported, by result."),
            MetricDescription(
                prefix: "receipt_batch_size", help: "Calls with counts of messages that shared a transaction.",
                buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            MetricDescription(
                prefix: "receipt_batch_splits_total",
                help: "Batches of calls with counts of messages that were repeated in parts."),
            MetricDescription(
                prefix: "receipt_refused_total",
                help: "Calls with counts of messages refused: the queue was full, or the wait too long."),
            MetricDescription(
                prefix: "message_fold_failures_total",
                help: "Failed folds of the sums of messages; they are repeated."),
            MetricDescription(
                prefix: "notifications_total",
                help: "Notifications of posts to this process, by result: stored, repeated (same dedupId), dropped "
                    + "(too many waited)."),
            MetricDescription(
                prefix: "notification_batch_size", help: "Posts of notifications that shared a transaction.",
                buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            MetricDescription(
                prefix: "notification_batch_splits_total",
                help: "Batches of posts of notifications that were repeated in parts."),
            MetricDescription(
                prefix: "notification_refused_total",
                help: "Posts of notifications refused: the queue was full, or the wait too long."),
            MetricDescription(
                prefix: "notification_fetch_batch_size",
                help:
                    "Fetches of notifications that shared a round trip, by stage: lookUp or write (acknowledgements).",
                buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            MetricDescription(
                prefix: "notification_fetch_batch_splits_total",
                help: "Batches of acknowledgements that were repeated in parts."),
            MetricDescription(
                prefix: "notification_fetch_refused_total",
                help: "Fetches of notifications refused: the queue was full, or the service was stopping."),
            MetricDescription(
                prefix: "installation_topics_batch_size",
                help: "Changes of the choices on installations that shared a transaction.",
                buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            MetricDescription(
                prefix: "installation_topics_batch_splits_total",
                help: "Batches of changes of the choices on installations that were repeated in parts."),
            MetricDescription(
                prefix: "installation_topics_refused_total",
                help: "Changes of the choices on installations refused: the queue was full, or the wait too long."),
            MetricDescription(
                prefix: "user_topics_batch_size", help: "Changes of the choices of users that shared a transaction.",
                buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            MetricDescription(
                prefix: "user_topics_batch_splits_total",
                help: "Batches of changes of the choices of users that were repeated in parts."),
            MetricDescription(
                prefix: "user_topics_refused_total",
                help: "Changes of the choices of users refused: the queue was full, or the wait too long."),
            MetricDescription(
                prefix: "registration_batch_size", help: "Registrations that shared a round trip, by stage.",
                buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            MetricDescription(
                prefix: "registration_batch_splits_total",
                help: "Batches of registrations that were repeated in parts."),
            MetricDescription(
                prefix: "registration_refused_total",
                help: "Registrations refused: the queue was full, or the service was stopping."),
            MetricDescription(
                prefix: "rollup_deltas_folded_total", help: "Deltas that this process folded into the roll-up."),
            MetricDescription(
                prefix: "rollup_fold_failures_total", help: "Failed folds of the roll-up; they are repeated."),
            MetricDescription(
                prefix: "registry_changes_total", help: "Events that this process wrote, by event and reason."),
            MetricDescription(
                prefix: "registry_active_installations",
                help: "Active installations by app and provider. Every process reports all: take the maximum."),
        ]
}
