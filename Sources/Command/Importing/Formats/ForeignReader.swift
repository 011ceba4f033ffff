import Basics
import Crypto
import PushRegistry

/// The options of the command for values that a file does not have.
package struct ForeignOptions: Sendable {
    /// `apns` or `apnsSandbox`, for installations of APNs.
    var environment: Provider?
    /// For rows without a date.
    package var lastSeen: Timestamp?
    /// For rows without the name of a system.
    var system: String?
    /// The apps whose rows are imported, if files have several; nil if the command does not say it, empty for all.
    var apps: Set<String>?
    /// The path of the user id.
    var user: FieldPath?
    /// The topics that come over; nil for none.
    var topics: Topics?

    package init(
        environment: Provider? = nil, lastSeen: Timestamp? = nil, system: String? = nil, apps: Set<String>? = nil,
        user: FieldPath? = nil, topics: Topics? = nil
    ) {
        (self.environment, self.lastSeen, self.system) = (environment, lastSeen, system)
        (self.apps, self.user, self.topics) = (apps, user, topics)
    }

    package enum Topics: Sendable {
        case all
        case only(Set<TopicSlug>)
    }
}

/// The values of a row that identify its installation, and its date: enough to compare it with other rows.
struct ForeignIdentity {
    let token: Token
    let installID: InstallID
    /// The row's date; the creation's if the row has no other one.
    let seenAt: Timestamp?
    let isOptedOut: Bool
}

enum ForeignOutcome {
    case installation(ForeignIdentity)
    case skipped(SkippedKind)
    /// An installation of APNs whose environment neither the row nor an option names.
    case needsEnvironment
}

/// Reads the rows of another system's export by its format.
package struct ForeignReader: Sendable {
    let format: ForeignFormat
    let options: ForeignOptions
    let zones: ForeignTimeZones
    /// The format's fields by their index: several may have the same name.
    private let places: [[ForeignFormat.Field]]

    package init(format: ForeignFormat, options: ForeignOptions, zones: ForeignTimeZones) {
        (self.format, self.options, self.zones) = (format, options, zones)
        places = ImportField.allCases.map { field in format.fields.filter { $0.field == field } }
    }

    /// The prefixes of tokens of Expo's service, which no provider accepts.
    private static let expoPrefixes = ["ExponentPushToken[", "ExpoPushToken["]

    // MARK: Identity

    /// - Throws: the faults of the values that identify the row.
    func outcome(of row: ForeignRow) throws(ImportFaults) -> ForeignOutcome {
        if let apps = options.apps, !apps.isEmpty, let app = app(of: row), !apps.contains(app) {
            return .skipped(.otherApp)
        }
        let provider: Provider
        switch target(of: row) {
        case .skipped(let kind): return .skipped(kind)
        case .provider(let found): provider = found
        case .apple:
            guard let environment = options.environment else {
                return token(row) == nil ? .skipped(.noToken) : .needsEnvironment
            }
            provider = environment
        }
        guard let token = token(row) else { return .skipped(.noToken) }
        if Self.expoPrefixes.contains(where: token.hasPrefix) { return .skipped(.expo) }
        if provider == .webPush, text(row, .p256dh) == nil || text(row, .auth) == nil { return .skipped(.noKeys) }
        for rule in format.skips where holds(rule, row) { return .skipped(rule.kind) }
        return .installation(try identity(row, token, provider))
    }

    /// The app of a row, if the format has one.
    func app(of row: ForeignRow) -> String? { format.app.flatMap { value(row, $0) } }

    /// What the installation gets pushes about, as far as topics are imported.
    func tags(of row: ForeignRow) -> [ForeignTag] {
        guard let topics = options.topics, let tags = format.tags?(row) else { return [] }
        guard case .only(let slugs) = topics else { return tags }
        return tags.filter { $0.slug.map(slugs.contains) ?? false }
    }

    /// What the row adds to a newer one of its token; nil if the format's rows are complete.
    func supplement(of row: ForeignRow) -> RowSupplement? {
        guard let installation = format.installation else { return nil }
        return RowSupplement(installation: value(row, installation), user: userText(row), tags: tags(of: row))
    }

    /// Why the installation is skipped if it is the newest row of its token.
    func optOut(of row: ForeignRow) -> SkippedKind? { format.optOuts.first { holds($0, row) }?.kind }

    private func target(of row: ForeignRow) -> ForeignProvider {
        guard let text = value(row, format.provider) else {
            return .skipped(token(row) == nil ? .noToken : .unknownType)
        }
        guard let found = format.providers[text.lowercased()] else { return .skipped(.unknownType) }
        guard found == .apple else { return found }
        let other = format.otherProviders.first { other in
            value(row, other.path).map { other.values.contains($0.lowercased()) } ?? false
        }
        return other.map { .provider($0.provider) } ?? .apple
    }

    private func identity(
        _ row: ForeignRow, _ text: String, _ provider: Provider
    ) throws(ImportFaults) -> ForeignIdentity {
        var faults: [ImportFault] = []
        func parse<Value>(_ field: ImportField, _ body: () throws(InvalidValue) -> Value) -> Value? {
            do throws(InvalidValue) { return try body() } catch {
                faults.append(ImportFault(field.name, error))
                return nil
            }
        }
        let token = parse(.token) { () throws(InvalidValue) in try Token(text, of: provider) }
        let installID = parse(.installID) { () throws(InvalidValue) in try InstallID(idText(row, token)) }
        if let user = userText(row) { _ = parse(.userID) { () throws(InvalidValue) in try Self.userID(user) } }
        guard faults.isEmpty, let token, let installID else { throw ImportFaults(faults) }
        let seenAt = (self.text(row, .lastSeenAt) ?? self.text(row, .createdAt)).flatMap(ImportedTime.parse)
        return ForeignIdentity(
            token: token, installID: installID, seenAt: seenAt, isOptedOut: format.optOuts.contains { holds($0, row) })
    }

    private static func userID(_ text: String) throws(InvalidValue) -> UserID {
        guard !text.hasPrefix("{") else {
            throw InvalidValue(code: "object", detail: "This is a JSON object: name its member, as in --user a.b.")
        }
        return try UserID(text)
    }

    /// The vendor's id. Without one, the digest of the token, which is the same in every run.
    private func idText(_ row: ForeignRow, _ token: Token?) -> String {
        if let id = identifier(text(row, .installID)) { return id }
        return String(hex: SHA256.hash(data: Array((token?.text ?? "").utf8)))
    }

    // MARK: Record

    /// All values of a row that has this identity.
    ///
    /// - Parameter unread: gets the values that count as missing, because nobody knows their meaning.
    func record(
        _ row: ForeignRow, _ identity: ForeignIdentity, unread: inout [(field: ImportField, value: String)]
    ) -> ImportRecord {
        var record = ImportRecord()
        let isWeb = identity.token.provider == .webPush
        for field in format.fields where field.isForWeb || !isWeb {
            guard record[field.field] == nil else { continue }
            for path in field.paths {
                guard let text = value(row, path) else { continue }
                record[field.field] = field.reading.read(text, zones)
                guard record[field.field] == nil else { break }
                unread.append((field.field, text))
            }
        }
        record[.installID] = identity.installID.rawValue
        record[.provider] = identity.token.provider.rawValue
        record[.token] = identity.token.text
        record[.userID] = userText(row)
        if let place = format.coordinates, let latitude = value(row, place.latitude),
            let longitude = value(row, place.longitude)
        {
            record[.location] = "\(latitude) \(longitude)"
        }
        record[.systemName] = record[.systemName] ?? options.system
        record[.authorizationStatus] = status(row, identity).rawValue
        return record
    }

    private func status(_ row: ForeignRow, _ identity: ForeignIdentity) -> AuthorizationStatus {
        if identity.isOptedOut { return .denied }
        return format.permissions.contains { holds($0, row) } ? .authorized : .unknown
    }

    private func userText(_ row: ForeignRow) -> String? {
        guard let user = options.user else { return identifier(text(row, .userID)) }
        let text = value(row, user) ?? format.prefixes.lazy.compactMap { value(row, FieldPath($0 + user.text)) }.first
        return identifier(text)
    }

    private func token(_ row: ForeignRow) -> String? { identifier(value(row, format.token)) }

    private func identifier(_ text: String?) -> String? { text.flatMap { $0.identifiesNobody ? nil : $0 } }

    // MARK: Values

    private func text(_ row: ForeignRow, _ field: ImportField) -> String? {
        for place in places[field.rawValue] {
            if let text = text(row, place) { return text }
        }
        return nil
    }

    private func text(_ row: ForeignRow, _ field: ForeignFormat.Field) -> String? {
        for path in field.paths {
            if let text = value(row, path), let read = field.reading.read(text, zones) { return read }
        }
        return nil
    }

    /// The first value that there is.
    private func value(_ row: ForeignRow, _ paths: [FieldPath]) -> String? {
        for path in paths {
            if let text = value(row, path) { return text }
        }
        return nil
    }

    /// Nil for one of the texts that mean a missing value.
    private func value(_ row: ForeignRow, _ path: FieldPath) -> String? {
        present(row, path).flatMap { $0.isNull ? nil : $0 }
    }

    /// Nil only for the format's own texts for a missing value. Rules judge `NULL` as any word that nobody knows.
    private func present(_ row: ForeignRow, _ path: FieldPath) -> String? {
        guard let text = row.text(path), !text.isEmpty else { return nil }
        return format.emptyTexts.isEmpty || !format.emptyTexts.contains(text.lowercased()) ? text : nil
    }

    private func holds(_ rule: ForeignFormat.Rule, _ row: ForeignRow) -> Bool {
        present(row, rule.path).map(rule.holds) ?? false
    }
}
