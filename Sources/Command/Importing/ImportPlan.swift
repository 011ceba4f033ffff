import PushRegistry

/// How the rows of a run become installations. The plan is complete before the first one is loaded.
package struct ImportPlan: Sendable {
    let source: ImportSource
    private(set) var reader: ImportReader
    /// Which rows are loaded; nil before the scan, and for all.
    var choice: RowChoice?
    /// Nil if no topics are imported.
    package var topics: ImportTopics?

    /// Of the app's policy.
    let webPushHosts: WebPushHosts

    package init(_ source: ImportSource, _ reader: ImportReader, allowing webPushHosts: WebPushHosts = WebPushHosts()) {
        self.source = source
        self.webPushHosts = webPushHosts
        self.reader = reader
    }

    /// The run needs an option of the command that is missing.
    package struct MissingOption: Error {
        package let description: String
    }

    /// Reads all rows once, and decides which ones are loaded: the newest of each token and `installId`. Of our own
    /// format, only the rows whose token's address may have other spellings are compared; its tokens differ otherwise.
    /// They are read only if an address may occur twice.
    ///
    /// - Parameter catalogue: the app's topics.
    /// - Throws: `MissingOption`, before anything is loaded.
    package mutating func scan(
        _ files: ImportFiles, over catalogue: TopicCatalogue, now: Timestamp = .now(), progress: (Int64) -> Void
    ) throws {
        switch source {
        case .own(let names): try scan(files, names, now: now, progress: progress)
        case .foreign(let reader): try scan(files, reader, over: catalogue, now: now, progress: progress)
        }
    }

    private mutating func scan(
        _ files: ImportFiles, _ names: ImportNames, now: Timestamp, progress: (Int64) -> Void
    ) throws {
        guard try Self.mayRepeatAddresses(files, progress) else { return }
        var (scan, reader) = (RowScan(now: now), reader)
        try files.forEachPart { part in
            var rows = OwnRows(names)
            try rows.read(part.bytes) { _, record in
                try scan.add(.success(Self.outcome(of: record, &reader)), app: nil)
                progress(scan.facts.rows)
                return true
            }
            return true
        }
        choice = try scan.choice(undated: reader.lastSeenDefault ?? now)
    }

    private static func mayRepeatAddresses(_ files: ImportFiles, _ progress: (Int64) -> Void) throws -> Bool {
        var addresses = RepeatedAddresses()
        try files.forEachPart { part in
            do {
                while !addresses.hasEscapes, let piece = try part.bytes.read() {
                    try addresses.add(piece)
                    progress(addresses.lines)
                }
            } catch is InputEndsEarly {}
            try addresses.endPart()
            return !addresses.hasEscapes
        }
        return try addresses.found()
    }

    private static func outcome(
        of record: Result<ImportRecord, ImportFaults>, _ reader: inout ImportReader
    ) -> ForeignOutcome {
        guard let record = try? record.get(), let text = record[.token],
            (try? Token(text, of: .fcm))?.spelling != nil, let found = try? reader.installation(record),
            found.token.spelling != nil
        else { return .skipped(.noToken) }
        return .installation(
            ForeignIdentity(
                token: found.token, installID: found.installID, seenAt: found.lastSeenAt, isOptedOut: false))
    }

    private mutating func scan(
        _ files: ImportFiles, _ reader: ForeignReader, over catalogue: TopicCatalogue, now: Timestamp,
        progress: (Int64) -> Void
    ) throws {
        var scan = RowScan(now: now)
        try files.forEachPart { part in
            guard var rows = try ForeignRows(part.bytes, reader.format.elements) else { return true }
            while let (_, row) = try rows.next() {
                try Self.scan(row, reader, &scan)
                progress(scan.facts.rows)
            }
            return true
        }
        try check(scan.facts, reader)
        let undated = reader.options.lastSeen ?? scan.facts.newest ?? now
        self.reader.lastSeenDefault = undated
        choice = try scan.choice(undated: undated)
        if reader.options.topics != nil { topics = try ImportTopics(scan.facts.topics, over: catalogue) }
    }

    private static func scan(
        _ row: Result<ForeignRow, ImportFaults>, _ reader: ForeignReader, _ scan: inout RowScan
    ) throws {
        switch row {
        case .failure(let faults): try scan.add(.failure(faults), app: nil)
        case .success(let row):
            for row in reader.format.expand(row) {
                let outcome = Result { () throws(ImportFaults) in try reader.outcome(of: row) }
                try scan.add(
                    outcome, app: reader.app(of: row), tags: reader.tags(of: row),
                    supplement: reader.supplement(of: row))
            }
        }
    }

    private func check(_ facts: ScanFacts, _ reader: ForeignReader) throws {
        if reader.options.apps == nil, facts.apps.count > 1 {
            throw MissingOption(
                description: "The files have several apps: use --all-apps, or --only-app with some of "
                    + facts.appNames + ".")
        }
        if !facts.apps.isEmpty, facts.apps.count < ScanFacts.appsMax,
            reader.options.apps?.isSubset(of: facts.apps) == false
        {
            throw MissingOption(description: "No row is of an app of --only-app. The files have \(facts.appNames).")
        }
        if facts.needsEnvironment {
            throw MissingOption(
                description: "\(reader.format.system) does not say for which environment of APNs its tokens are: "
                    + "use --environment production or --environment sandbox.")
        }
        if facts.lacksDates, facts.newest == nil, reader.options.lastSeen == nil {
            throw MissingOption(
                description: "The files do not say when installations were last seen: use --last-seen with the time "
                    + "of the export.")
        }
    }
}
