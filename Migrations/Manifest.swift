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
    MigrationFile("0001_create_app", PackageResources._001_create_app_sql),
    MigrationFile("0002_create_installation", PackageResources._002_create_installation_sql),
    MigrationFile("0003_create_history", PackageResources._003_create_history_sql),
    MigrationFile("0004_create_rollup", PackageResources._004_create_rollup_sql),
    MigrationFile("0005_create_cleanup", PackageResources._005_create_cleanup_sql),
    MigrationFile("0006_create_api_key_use", PackageResources._006_create_api_key_use_sql),
    MigrationFile("0007_create_topics", PackageResources._007_create_topics_sql),
    MigrationFile("0008_create_messages", PackageResources._008_create_messages_sql),
    MigrationFile("0009_create_notifications", PackageResources._009_create_notifications_sql),
    MigrationFile("0010_create_console", PackageResources._010_create_console_sql),
    MigrationFile("0011_create_partitions", PackageResources._011_create_partitions_sql),
    MigrationFile("0012_create_typed_token", PackageResources._012_create_typed_token_sql),
    MigrationFile("0013_create_feedback_breaker", PackageResources._013_create_feedback_breaker_sql),
    MigrationFile("0014_add_readdressed", PackageResources._014_add_readdressed_sql),
    MigrationFile("0015_create_directory_change", PackageResources._015_create_directory_change_sql),
    MigrationFile("0016_add_app_deletion", PackageResources._016_add_app_deletion_sql),
    MigrationFile("0017_create_rollup_history", PackageResources._017_create_rollup_history_sql),
    MigrationFile("0018_add_console_person", PackageResources._018_add_console_person_sql),
    MigrationFile("0019_create_audit_entry", PackageResources._019_create_audit_entry_sql),
]
