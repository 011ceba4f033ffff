import Basics
import PostgresClient
import PushRegistry

/// A filter as SQL over the columns of `installation`. `CubeFilter` is the same over cells.
///
/// Each condition is true or false and never NULL (R16), so NOT inverts it.
struct AudiencePredicate {
    let app: AppNumber
    /// The time at which conditions on times and zones are evaluated.
    let asOf: Timestamp

    /// - Parameter isRequired: whether no row without the filter is wanted, so that an index may find the rows.
    func sql(_ filter: AudienceFilter, isRequired: Bool = true) -> PostgresSQL {
        switch filter {
        case .all(let parts): joined(parts, " AND ", none: "true", isRequired)
        case .any(let parts): joined(parts, " OR ", none: "false", false)
        case .not(let part): "NOT \(sql: sql(part, isRequired: false))"
        case .condition(.userID, .oneOf(let values)): belongs(toOneOf: values.texts, isRequired)
        case .condition(let field, let test): condition(field, test)
        case .segment: preconditionFailure("segments are expanded before")
        }
    }

    private func joined(
        _ parts: [AudienceFilter], _ separator: PostgresSQL, none: PostgresSQL, _ isRequired: Bool
    ) -> PostgresSQL {
        joined(parts.map { sql($0, isRequired: isRequired) }, separator, none: none)
    }

    private func joined(_ parts: [PostgresSQL], _ separator: PostgresSQL, none: PostgresSQL) -> PostgresSQL {
        parts.isEmpty ? none : "(\(sql: parts.joined(separator: separator)))"
    }

    private func condition(_ field: AudienceField, _ test: FieldPredicate) -> PostgresSQL {
        switch test {
        case .exists: exists(field)
        case .oneOf(let values): "(\(sql: oneOf(field, values))) IS TRUE"
        case .ordered(let order, let value): "(\(sql: ordered(field, order, value))) IS TRUE"
        case .within(let duration):
            "(\(sql: column(field)) >= \(asOf.preceding(by: duration).postgres)) IS TRUE"
        case .between(let range): between(range)
        case .near(let circle): "(\(sql: near(circle))) IS TRUE"
        }
    }

    private func column(_ field: AudienceField) -> PostgresSQL { AudienceSource.column(field) }

    private func versionKey(_ field: AudienceField) -> PostgresSQL {
        AudienceSource.versionKey(of: column(field))
    }

    private func exists(_ field: AudienceField) -> PostgresSQL {
        switch field.kind {
        case .version: "\(sql: versionKey(field)) IS NOT NULL"
        case .location: "latitude IS NOT NULL"
        // Code 0 is no value.
        case .flag: "\(sql: column(field)) <> 0"
        default: "\(sql: column(field)) IS NOT NULL"
        }
    }
}

// MARK: - Comparing

extension AudiencePredicate {
    private func oneOf(_ field: AudienceField, _ values: [AudienceValue]) -> PostgresSQL {
        switch field.kind {
        case .choice: return choice(field, values.texts)
        case .locale: return lies(in: values.locales)
        case .topic: return isSubscribed(toOneOf: values.topics)
        case .version:
            // As texts: an array of arrays would have to be of one length.
            return "array_to_string(\(sql: versionKey(field)), '.') = ANY (\(values.versions.map(\.text)))"
        case .offset: return "\(sql: column(field)) = ANY (\(values.offsets))"
        case .time: return "\(sql: column(field)) = ANY (\(values.times))"
        case .flag: return "\(sql: column(field)) = ANY (\(values.flags.map { $0 ? 2 : 1 as Int64 }))"
        case .text, .timeZone, .user, .localTime, .location:
            return "\(sql: column(field)) = ANY (\(values.texts))"
        }
    }

    /// The wide row has no index on users, `installation_owner` has. Without a user it is false, and never NULL.
    ///
    /// Each user is one look-up: for thousands, the planner would rather read all rows. As an array, the ids of the
    /// installations are looked up in their index; where all rows are read, a hash of them is faster.
    private func belongs(toOneOf users: [String], _ isRequired: Bool) -> PostgresSQL {
        let ids: PostgresSQL = """
            SELECT owned.install_id FROM unnest(\(users)) AS named (id) CROSS JOIN LATERAL (\
            SELECT o.install_id FROM installation_owner o \
            WHERE o.app_id = \(app.rawValue) AND o.user_id = named.id AND o.left_at IS NULL OFFSET 0) AS owned
            """
        return isRequired ? "install_id = ANY (ARRAY(\(sql: ids)))" : "install_id IN (\(sql: ids))"
    }

    private func isSubscribed(toOneOf topics: [Topic]) -> PostgresSQL {
        if topics.contains(where: \.content.isLocked) { return "true" }
        return joined(topics.map { TopicChoiceStatements.isSubscribed(to: $0) }, " OR ", none: "false")
    }

    /// Settings are compared by their codes.
    private func choice(_ field: AudienceField, _ names: [String]) -> PostgresSQL {
        if field == .provider { return "provider = ANY (\(names)::text[]::provider[])" }
        guard let known = PackedSettings.names(of: field) else { return "\(sql: column(field)) = ANY (\(names))" }
        return "\(sql: column(field)) = ANY (\(names.compactMap(known.firstIndex).map(Int64.init)))"
    }

    /// The locale is one of these, or one of them includes it. No locale includes a stored text that is not a locale.
    private func lies(in locales: [LocaleIdentifier]) -> PostgresSQL {
        let exact: PostgresSQL = "locale = ANY (\(locales.map(\.text)))"
        let prefixes = locales.filter(\.isParsed).map { $0.text + "_" }
        guard !prefixes.isEmpty else { return exact }
        return """
            \(sql: exact) OR locale ^@ ANY (\(prefixes)) AND (locale ~ '^[a-z]+_[A-Z][A-Z]$' OR locale ~ \
            '^[a-z]{2,3}(_[A-Z][a-z]{3})?(_([A-Z]{2}|[0-9]{3}))?(_([A-Z0-9]{5,8}|[0-9][A-Z0-9]{3}))*$')
            """
    }

    private func ordered(_ field: AudienceField, _ order: AudienceOrder, _ value: AudienceValue) -> PostgresSQL {
        let left = field.kind == .version ? versionKey(field) : column(field)
        let right: PostgresSQL =
            switch value {
            case .version(let version): "\(version.components)"
            case .offset(let offset): "\(offset)"
            case .time(let time): "\(time.postgres)"
            case .text(let text): "\(text.text)"
            case .locale(let locale): "\(locale.text)"
            case .flag(let flag): "\(flag)"
            case .topic(let topic): "\(topic.slug.rawValue)"
            }
        return "\(sql: left) \(sql: order.sql) \(sql: right)"
    }

    /// Seconds from midnight where the device is: the zone's offset added to UTC's.
    private func between(_ range: LocalTimeRange) -> PostgresSQL {
        let utcSeconds = Int64((asOf.microseconds / 1_000_000) % 86_400 + 86_400) % 86_400
        let seconds: PostgresSQL =
            "(((\(sql: ZoneOffsets.utcOffset) + \(utcSeconds)) % 86400 + 86400) % 86400)"
        let (start, end) = (Int64(range.start.seconds), Int64(range.end.seconds))
        return range.start < range.end
            ? "(\(sql: seconds) >= \(start) AND \(sql: seconds) < \(end)) IS TRUE"
            : "(\(sql: seconds) >= \(start) OR \(sql: seconds) < \(end)) IS TRUE"
    }

    /// The haversine formula. A comparison of latitudes excludes most locations first.
    private func near(_ circle: Circle) -> PostgresSQL {
        let latitudes = circle.latitudes
        return """
            latitude BETWEEN \(latitudes.lowerBound) AND \(latitudes.upperBound) AND 2 * \(Circle.earthRadiusKm) * \
            asin(least(1, sqrt(sin(radians(latitude - \(circle.latitude)) / 2) ^ 2 \
            + cos(radians(\(circle.latitude))) * cos(radians(latitude)) \
            * sin(radians(longitude - \(circle.longitude)) / 2) ^ 2))) <= \(circle.radiusKm)
            """
    }
}

// MARK: - Values

extension AudienceOrder {
    fileprivate var sql: PostgresSQL {
        switch self {
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        }
    }
}

extension Version {
    /// Canonical: version 17.0 is `17`.
    fileprivate var text: String { components.map(String.init).joined(separator: ".") }
}

extension [AudienceValue] {
    fileprivate var texts: [String] { compactMap { if case .text(let text) = $0 { text.text } else { nil } } }
    fileprivate var locales: [LocaleIdentifier] {
        compactMap { if case .locale(let locale) = $0 { locale } else { nil } }
    }
    fileprivate var versions: [Version] { compactMap { if case .version(let version) = $0 { version } else { nil } } }
    fileprivate var offsets: [Int64] { compactMap { if case .offset(let offset) = $0 { offset } else { nil } } }
    fileprivate var flags: [Bool] { compactMap { if case .flag(let flag) = $0 { flag } else { nil } } }
    fileprivate var topics: [Topic] { compactMap { if case .topic(let topic) = $0 { topic } else { nil } } }
    fileprivate var times: [PostgresTimestamp] {
        compactMap { if case .time(let time) = $0 { time.postgres } else { nil } }
    }
}
