extension PostgresConfiguration {
    /// Which database this is, for people: host, port, database and user as the connection string has them, never a
    /// password.
    public var place: String {
        let options = ConnectionString.parse(connectionString.text) ?? [:]
        let parts = ["dbname", "host", "hostaddr", "port", "user"].compactMap { name in
            options[name].map { "\(name)=\($0)" }
        }
        return parts.isEmpty ? "PostgreSQL by libpq's own defaults" : parts.joined(separator: " ")
    }
}
