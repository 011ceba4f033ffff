import Crypto
import PostgresClient
import PushRegistry
import Receipts

/// The SQL of one audience in one snapshot.
struct AudienceStatements {
    let audience: Audience
    let asOf: Timestamp

    init(_ audience: Audience, at asOf: Timestamp) {
        (self.audience, self.asOf) = (audience, asOf)
    }

    var count: PostgresSQL {
        "\(sql: with(audience.filter.fields)) SELECT count(*) \(sql: matching(audience.filter.fields))"
    }

    /// The groups' values, their count, the count of all and the number of groups.
    func groups(by fields: [AudienceField], limit: Int) -> PostgresSQL {
        let used = audience.filter.fields.union(fields)
        let source: AudienceSource? = fields.contains(.topic) ? .subscriptions(audience, at: asOf) : nil
        let columns = fields.indices.map { PostgresSQL(identifier: "column\($0)") }
        let keys = fields.indices.map { PostgresSQL(identifier: "key\($0)") }
        let texts = fields.indices.map { PostgresSQL(identifier: "text\($0)") }
        let counted = zip(fields, columns).map { field, column -> PostgresSQL in
            "\(sql: AudienceSource.column(field)) AS \(sql: column)"
        }
        let values = fields.indices.map { number -> PostgresSQL in
            let (field, column) = (fields[number], columns[number])
            let key = field.kind == .version ? AudienceSource.versionKey(of: column) : column
            let text = groupText(field, key, of: column)
            return "\(sql: key) AS \(sql: keys[number]), \(sql: text) AS \(sql: texts[number])"
        }
        let order = fields.indices.map { self.order(of: fields[$0], keys[$0], texts[$0]) }.joined(separator: ", ")
        // Rows are counted by the columns first: the key of a version is computed for each text, and not for each row.
        let grouped: PostgresSQL = """
            counted AS (
                SELECT \(sql: counted.joined(separator: ", ")), count(*) AS number \(sql: matching(used, in: source))
                GROUP BY \(sql: columns.joined(separator: ", "))),
            grouped AS (
                SELECT \(sql: values.joined(separator: ", ")), sum(number)::bigint AS number FROM counted
                GROUP BY \(sql: keys.joined(separator: ", ")))
            """
        return """
            \(sql: with(used, and: [grouped]))
            SELECT \(sql: texts.joined(separator: ", ")), number, sum(number) OVER ()::bigint, count(*) OVER ()
            FROM grouped ORDER BY number DESC, \(sql: order) LIMIT \(Int64(limit))
            """
    }

    func page(from position: AudiencePosition, limit: Int) -> PostgresSQL {
        let typed: PostgresSQL = audience.tokens == nil ? "" : ", token_name, token_expires_at, token_provider::text"
        let columns = [ExportColumn.token, .p256dh, .auth, .generation, .cell, .userID].map { cell($0, position) }
        return """
            \(sql: with(audience.filter.fields))
            SELECT install_id, provider::text, \(sql: columns.joined(separator: ", ")), \
            \(sql: position.isOfOpaqueIDs ? place : "NULL::bytea") AS place\(sql: typed) \
            \(sql: matching(audience.filter.fields))\(sql: beyond(position)) \
            ORDER BY \(sql: position.isOfOpaqueIDs ? "place" : order(of: position)) LIMIT \(Int64(limit))
            """
    }

    /// The zones of the installations, for `waves`.
    var zones: PostgresSQL {
        """
        SELECT \(sql: AudienceSource.column(.timeZone)) AS zone_id, zone_name IS NULL AS is_unknown,
            CASE WHEN zone_name IS NULL THEN \(sql: ZoneOffsets.utcOffset) END AS sent_offset, count(*) AS number
        \(sql: matching(audience.filter.fields.union([.utcOffset, .timeZone]))) GROUP BY 1, 2, 3
        """
    }

    /// At most 1,000 zones are named for each instant, because clients may send any text as a zone. If an import knew
    /// only the offset, the zone has no name; if it knew neither, there is no instant.
    ///
    /// - Parameter zones: a SELECT, of installations or of `CubeQuery.zones`.
    func waves(_ time: LocalTime, on day: CalendarDay, of zones: PostgresSQL) -> PostgresSQL {
        let shown: PostgresSQL = "(\(day.description)::date + \(Int64(time.seconds)) * interval '1 second')"
        let isSkipped: PostgresSQL = "clock <> \(sql: shown)"
        return """
            \(sql: with([.utcOffset], and: ["zones AS (\(sql: zones))"]))
            SELECT instant, sum(number)::bigint,
                coalesce((array_agg(DISTINCT zone_id) FILTER (WHERE zone_id IS NOT NULL))[1:1000], '{}'),
                bool_or(zone_id IS NULL),
                coalesce((array_agg(zone_id ORDER BY zone_id) FILTER (WHERE \(sql: isSkipped)))[1:1000], '{}'),
                coalesce((array_agg(to_char(clock, 'HH24:MI') ORDER BY zone_id)
                    FILTER (WHERE \(sql: isSkipped)))[1:1000], '{}'),
                coalesce((array_agg(zone_id ORDER BY zone_id)
                    FILTER (WHERE again > instant AND again AT TIME ZONE zone_id = \(sql: shown)))[1:1000], '{}')
            FROM (
                SELECT *, CASE WHEN NOT is_unknown THEN instant AT TIME ZONE zone_id END AS clock,
                    -- The same local time by the offset after a clock change, if there is one.
                    CASE WHEN NOT is_unknown THEN (\(sql: shown)
                        - ((instant + interval '2 days') AT TIME ZONE zone_id
                        - (instant + interval '2 days') AT TIME ZONE 'UTC')) AT TIME ZONE 'UTC' END AS again
                FROM (
                    SELECT zone_id, number, is_unknown, CASE
                        WHEN is_unknown THEN (\(sql: shown) - sent_offset * interval '1 second') AT TIME ZONE 'UTC'
                        ELSE first_instant(\(sql: shown), zone_id) END AS instant
                    FROM zones) AS i) AS w
            GROUP BY instant ORDER BY instant
            """
    }

    func export(_ columns: [ExportColumn], from position: AudiencePosition) -> PostgresSQL {
        let fields = Set(columns.compactMap { if case .field(let field) = $0 { field } else { nil } })
        let used = audience.filter.fields.union(fields)
        return """
            \(sql: with(used)) SELECT \(sql: columns.map { cell($0, position) }.joined(separator: ", ")) \
            \(sql: matching(used))\(sql: beyond(position)) ORDER BY \(sql: order(of: position))
            """
    }
}

// MARK: - Parts

extension AudienceStatements {
    /// WITH, where there is something to define.
    private func with(_ fields: Set<AudienceField>, and more: [PostgresSQL] = []) -> PostgresSQL {
        var definitions: [PostgresSQL] = []
        if fields.contains(where: \.needsZones) {
            definitions.append(ZoneOffsets.definition(at: asOf, of: nil))
        }
        definitions += more
        return definitions.isEmpty ? "" : "WITH \(sql: definitions.joined(separator: ", "))"
    }

    /// - Parameter source: nil for installations.
    private func matching(_ fields: Set<AudienceField>, in source: AudienceSource? = nil) -> PostgresSQL {
        let source = source ?? .installations(audience, at: asOf)
        let zones: PostgresSQL = fields.contains(where: \.needsZones) ? " \(sql: ZoneOffsets.join)" : ""
        return """
            FROM \(sql: source.from)\(sql: zones) WHERE \(sql: source.condition) AND \(sql: predicate)
            """
    }

    private var predicate: PostgresSQL { AudiencePredicate(app: audience.app, asOf: asOf).sql(audience.filter) }

    private func order(of position: AudiencePosition) -> PostgresSQL {
        switch position {
        case .installID: audience.tokens == nil ? "install_id" : "install_id, token_name"
        case .opaqueID: place
        }
    }

    private func beyond(_ position: AudiencePosition) -> PostgresSQL {
        switch position {
        case .installID(let last?, nil): " AND install_id > \(last.rawValue)"
        case .installID(let last?, let name?): " AND (install_id, token_name) > (\(last.rawValue), \(name))"
        case .opaqueID(let last?, let name): " AND \(sql: place) > \(last.bytes + name)"
        case .installID(nil, _), .opaqueID(nil, _): ""
        }
    }

    /// What orders rows for marketing: the opaque id, and of a typed token the digest of its name.
    private var place: PostgresSQL {
        guard audience.tokens != nil else { return opaqueID }
        // No installation id begins with this byte.
        return """
            \(sql: opaqueID) || substr(sha256(\(opaqueKey)::bytea || '\\x00' || convert_to(token_name, 'UTF8')), 1, \
            \(Int32(OpaqueID.nameBytesCount)))
            """
    }

    private var opaqueKey: [UInt8] {
        let key = SymmetricKey(derivedFrom: audience.identityKey.bytes, for: "opaque ids")
        return key.withUnsafeBytes { Array($0.prefix(OpaqueID.bytesCount)) }
    }

    /// The `OpaqueID` of a row. A digest of key and id without an HMAC, whose two rounds cost twice as much: half of
    /// the digest does not let anybody continue it. With a key of 16 bytes, a UUID fits into one block of SHA-256.
    private var opaqueID: PostgresSQL {
        """
        substr(sha256(\(opaqueKey)::bytea || convert_to(install_id, 'UTF8')), 1, \(Int32(OpaqueID.bytesCount)))
        """
    }

    /// The name of a group: of several spellings of a version the first, which is the shortest one with nothing behind
    /// the number.
    private func groupText(_ field: AudienceField, _ key: PostgresSQL, of column: PostgresSQL) -> PostgresSQL {
        if field.settingCode != nil { return Self.settingName(field, key) }
        guard field.kind == .version else { return "(\(sql: key))::text" }
        return "min(\(sql: column)) FILTER (WHERE \(sql: key) IS NOT NULL)"
    }

    /// The name of a setting's code; NULL where it has no value.
    private static func settingName(_ field: AudienceField, _ code: PostgresSQL) -> PostgresSQL {
        guard let names = PackedSettings.names(of: field) else {
            return "CASE \(sql: code) WHEN 1 THEN 'false' WHEN 2 THEN 'true' END"
        }
        let list = names.map { PostgresSQL(literal: $0) }.joined(separator: ", ")
        return "(ARRAY[\(sql: list)])[\(sql: code) + 1]"
    }

    /// Versions and numbers in their own order, the rest as texts.
    private func order(of field: AudienceField, _ name: PostgresSQL, _ text: PostgresSQL) -> PostgresSQL {
        switch field.kind {
        case .version, .offset: "\(sql: name) NULLS LAST"
        case .choice, .flag: "\(sql: text) COLLATE \"C\" NULLS LAST"
        default: "\(sql: name)::text COLLATE \"C\" NULLS LAST"
        }
    }

    /// A value in the form of its column's `kind`: the database has enough to do.
    private func cell(_ column: ExportColumn, _ position: AudiencePosition) -> PostgresSQL {
        switch column {
        case .installID: "install_id"
        case .opaqueID: opaqueID
        case .token where audience.tokens != nil: "token_text"
        case .p256dh where audience.tokens != nil, .auth where audience.tokens != nil: "NULL::text"
        case .environment: "CASE WHEN token_provider = 'apns' THEN 'production' ELSE 'sandbox' END"
        case .tokenName: "nullif(token_name, '')"
        case .tokenExpiresAt: "token_expires_at"
        case .place:
            position.isOfOpaqueIDs ? place : "install_id || ' ' || coalesce(nullif(token_name, ''), '-')"
        case .token: "token"
        case .p256dh: "p256dh"
        case .auth: "auth"
        case .generation: "generation"
        case .userID: "user_id"
        case .cell: "cell"
        case .keychainID: "keychain_id"
        case .vendorID: "vendor_id"
        case .languages: "array_to_json(languages)::text"
        case .sessionID: "session_id"
        case .sessionExpiresAt: "session_expires_at"
        case .field(.location): "latitude || ' ' || longitude"
        case .field(.localTime):
            """
            to_char(
                \(asOf.postgres) AT TIME ZONE 'UTC' + \(sql: ZoneOffsets.utcOffset) * interval '1 second', 'HH24:MI')
            """
        case .field(.providesAppNotificationSettings):
            "nullif(\(sql: AudienceSource.column(.providesAppNotificationSettings)), 0) = 2"
        case .field(let field) where field.settingCode != nil: Self.settingName(field, AudienceSource.column(field))
        case .field(let field): AudienceSource.column(field)
        }
    }
}

extension AudiencePage.Item {
    /// - Parameter isTyped: whether typed tokens are handed out.
    init(_ row: PostgresRow, isTyped: Bool) throws {
        let provider = try row.decode(1, as: String.self)
        let (text, issuer) = (try row.decode(2, as: String?.self), try isTyped ? row.decode(11) : provider)
        let (p256dh, auth) = (try row.decode(3, as: String?.self), try row.decode(4, as: String?.self))
        var keys: WebPushKeys?
        if let p256dh, let auth { keys = try WebPushKeys(p256dh: p256dh, auth: auth) }
        let place = try row.decode(8, as: [UInt8]?.self) ?? []
        let typed =
            try isTyped
            ? Typed(
                name: row.decode(9), expiresAt: row.decode(10, as: Timestamp?.self)) : nil
        self.init(
            installID: try InstallID(row.decode(0)), provider: provider,
            token: try Provider(rawValue: issuer).flatMap { provider in try text.map { try Token($0, of: provider) } },
            keys: keys, generation: try row.decode(5), cell: try row.decode(6), userID: try row.decode(7),
            opaqueID: OpaqueID(Array(place.prefix(OpaqueID.bytesCount))),
            nameDigest: Array(place.dropFirst(OpaqueID.bytesCount)), typed: typed)
    }
}

extension AudiencePosition {
    fileprivate var isOfOpaqueIDs: Bool { if case .opaqueID = self { true } else { false } }
}
