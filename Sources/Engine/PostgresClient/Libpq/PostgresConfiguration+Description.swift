extension PostgresConfiguration {
    /// The database for messages to people: host, port, database and user of the connection string, never a password.
    public var serverDescription: String {
        let options = ConnectionString.parse(connectionString.text) ?? [:]
        let parts = ["dbname", "host", "hostaddr", "port", "user"].compactMap { name in
            options[name].map { "\(name)=\($0)" }
        }
        return parts.isEmpty ? "PostgreSQL at libpq's defaults" : parts.joined(separator: " ")
    }
}
