import PushRegistry
import RegistryJobs

/// The outcomes of the rows of an import, or the expected ones of a dry run.
package struct ImportSummary: Encodable {
    struct Forecast: Encodable {
        /// By provider.
        let reachable: [String: Int]
        let retiredNextRun: Int
        let withoutTimeZone: Int
        let withoutUser: Int
        /// How many would choose each topic; nil if no topics are imported.
        let topics: [String: Int]?

        init(_ forecast: ImportForecast, _ topics: ImportTopics?) {
            reachable = Dictionary(uniqueKeysWithValues: forecast.reachable.map { ($0.rawValue, $1) })
            retiredNextRun = forecast.retiredNextRun
            withoutTimeZone = forecast.withoutTimeZone
            withoutUser = forecast.withoutUser
            self.topics = topics.map { topics in
                let counts = forecast.topics.compactMap { number, count in
                    topics.catalogue[number].map { ($0.slug.rawValue, count) }
                }
                return Dictionary(uniqueKeysWithValues: counts)
            }
        }
    }

    struct Topics: Encodable {
        /// The topics that the app did not have.
        let created: [String]
        /// On the imported installations.
        let choices: Int
        /// Tags that cannot be topics.
        let ignored: Int
    }

    let format: String
    let files: [String]
    let read: Int
    let imported: Int
    let unchanged: Int
    /// By kind.
    let skipped: [String: Int]
    package let rejected: Int
    let duplicates: Int
    let assumed: Int
    /// By field and value.
    let notUnderstood: [String: [String: Int]]
    /// Only with `--topics`.
    let topics: Topics?
    /// Only of a dry run.
    let forecast: Forecast?
    let seconds: Double

    package init(
        _ plan: ImportPlan, files: [String], _ input: ImportInput.Counts, _ counts: InstallationImporter.Counts,
        isDryRun: Bool, seconds: Double
    ) {
        format = plan.source.name
        self.files = files
        read = input.read
        imported = counts.imported
        unchanged = counts.unchanged
        rejected = input.rejected
        duplicates = input.duplicates
        assumed = input.assumed
        notUnderstood = input.notUnderstood.counts
        self.seconds = (seconds * 1_000).rounded() / 1_000
        topics = plan.topics.map { topics in
            Topics(
                created: topics.missing.map(\.slug.rawValue), choices: counts.topicChoices,
                ignored: input.ignoredTags)
        }
        forecast = isDryRun ? Forecast(counts.forecast, plan.topics) : nil
        var kinds = input.skipped
        if counts.skipped > 0 { kinds[.heldOrLoggedOut] = counts.skipped }
        skipped = Dictionary(uniqueKeysWithValues: kinds.map { ($0.rawValue, $1) })
    }

    private enum CodingKeys: CodingKey {
        case format, files, read, imported, unchanged, skipped, rejected, duplicates, assumed, notUnderstood, topics,
            forecast, seconds
    }

    /// The forecast is null without a dry run; `topics` is there only with `--topics`.
    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(format, forKey: .format)
        try members.encode(files, forKey: .files)
        try members.encode(read, forKey: .read)
        try members.encode(imported, forKey: .imported)
        try members.encode(unchanged, forKey: .unchanged)
        try members.encode(skipped, forKey: .skipped)
        try members.encode(rejected, forKey: .rejected)
        try members.encode(duplicates, forKey: .duplicates)
        try members.encode(assumed, forKey: .assumed)
        try members.encode(notUnderstood, forKey: .notUnderstood)
        try members.encodeIfPresent(topics, forKey: .topics)
        try members.encode(forecast, forKey: .forecast)
        try members.encode(seconds, forKey: .seconds)
    }

    /// - Parameter rejects: the report of the rejected rows.
    package func text(rejects: String) -> String {
        var lines = [
            "\(format): read \(read), \(forecast == nil ? "imported" : "would import") \(imported), "
                + "unchanged \(unchanged), skipped \(skipped.values.reduce(0, +)), "
                + "older rows of a token or an installation \(duplicates), "
                + "rejected \(rejected)\(rejected > 0 ? " (see \(rejects))" : "")"
        ]
        lines += skipped.sorted { $0.key < $1.key }.map { "skipped \($0.key): \($0.value)" }
        if assumed > 0 { lines.append("authorization assumed: \(assumed)") }
        for (field, values) in notUnderstood.sorted(by: { $0.key < $1.key }) {
            let counts = values.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }
            lines.append("not understood in \(field): \(counts.joined(separator: ", "))")
        }
        if let topics {
            let created = topics.created.isEmpty ? "none" : topics.created.joined(separator: ", ")
            lines.append(
                "choices of topics: \(topics.choices), tags that cannot be topics: \(topics.ignored), "
                    + "\(forecast == nil ? "created" : "would create"): \(created)")
        }
        if let forecast { lines += forecast.lines }
        return lines.joined(separator: "\n")
    }
}

extension ImportSummary.Forecast {
    fileprivate var lines: [String] {
        let reachable = reachable.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return [
            "reachable after the import: \(reachable.isEmpty ? "none" : reachable.joined(separator: ", "))",
            "retired by the next clean-up: \(retiredNextRun)",
            "without a time zone: \(withoutTimeZone), without a user: \(withoutUser)",
        ] + (topics ?? [:]).sorted { $0.key < $1.key }.map { "topic \($0.key): \($0.value)" }
    }
}
