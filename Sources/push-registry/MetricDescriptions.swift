import Telemetry

/// What the exposition says about each metric; the page on operations lists the same.
enum MetricDescriptions {
    static let all =
        RequestMetrics.descriptions + [
            MetricDescription(
                prefix: "cleanup_last_finished_timestamp_seconds",
                help: "When the night job last came to its end, in Unix time."),
            MetricDescription(prefix: "cleanup_last_duration_seconds", help: "How long the night job's last run took."),
            MetricDescription(
                prefix: "cleanup_last_refused_apps",
                help: "Apps that the last run left alone: too large a share would have gone."),
            MetricDescription(
                prefix: "cleanup_last_installations",
                help: "Installations that the last run changed, by app and step."),
            MetricDescription(
                prefix: "jwks_fetches_total", help: "Fetches of key sets (jwksURL) by app and result: ok or failed."),
            MetricDescription(prefix: "http_connections", help: "Connections that are open."),
            MetricDescription(
                prefix: "postgres_duration_seconds",
                help: "Time from asking for a connection to the last result, by pool and kind: unit or transaction.",
                buckets: PrometheusConfiguration.latencyBuckets),
            MetricDescription(
                prefix: "postgres_errors_total", help: "What PostgreSQL refused or broke off, by pool and kind."),
            MetricDescription(prefix: "postgres_pool_connections", help: "Connections to PostgreSQL, by pool."),
            MetricDescription(prefix: "postgres_pool_waiting", help: "Tasks that wait for a connection, by pool."),
            MetricDescription(
                prefix: "logout_batch_size", help: "Logouts that shared a transaction.",
                buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            MetricDescription(prefix: "logout_batch_splits_total", help: "Batches of logouts done one by one."),
            MetricDescription(
                prefix: "logout_refused_total", help: "Logouts refused: the queue was full, or the wait too long."),
            MetricDescription(
                prefix: "registration_batch_size", help: "Registrations that shared a round trip, by stage.",
                buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            MetricDescription(prefix: "registration_batch_splits_total", help: "Batches that were done one by one."),
            MetricDescription(
                prefix: "registration_refused_total",
                help: "Registrations that found the queue full, or the service stopping."),
            MetricDescription(
                prefix: "rollup_deltas_folded_total",
                help: "Changes of counts that this process folded into the roll-up."),
            MetricDescription(
                prefix: "rollup_fold_failures_total",
                help: "Rounds of folding the roll-up that failed; they are repeated."),
            MetricDescription(
                prefix: "registry_changes_total",
                help: "Changes that this process wrote to the history, by event and reason."),
            MetricDescription(
                prefix: "registry_active_installations",
                help: "Active installations by app and provider. Every process tells the same: take the maximum."),
        ]
}
