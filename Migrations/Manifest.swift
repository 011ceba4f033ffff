/// A file of this folder. Resources are embedded without a list of their own, so this is the list; a test holds it to
/// the folder.
public struct MigrationFile: Sendable {
    /// The file's name without its ending: `NNNN_verb_object`.
    public let name: String
    public let sql: String

    init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        sql = String(decoding: bytes, as: UTF8.self)
    }
}

/// All migrations, in the order in which they are applied.
public let migrationFiles = [
    MigrationFile("0001_create_registry", PackageResources._001_create_registry_sql),
    MigrationFile("0002_create_session", PackageResources._002_create_session_sql),
    MigrationFile("0003_create_change_feed", PackageResources._003_create_change_feed_sql),
    MigrationFile("0004_create_rollup", PackageResources._004_create_rollup_sql),
    MigrationFile("0005_create_cleanup_run", PackageResources._005_create_cleanup_run_sql),
    MigrationFile("0006_create_segment", PackageResources._006_create_segment_sql),
    MigrationFile("0007_number_rollup_texts", PackageResources._007_number_rollup_texts_sql),
    MigrationFile("0008_date_user_guard", PackageResources._008_date_user_guard_sql),
    MigrationFile("0009_seed_statistics", PackageResources._009_seed_statistics_sql),
    MigrationFile("0010_replan_folding", PackageResources._010_replan_folding_sql),
    MigrationFile("0011_analyze_growth", PackageResources._011_analyze_growth_sql),
]
