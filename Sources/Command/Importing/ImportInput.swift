import Basics
import Foundation
import PushRegistry
import RegistryJobs

/// Reads the installations of files on its own thread, and reports rejected rows.
package final class ImportInput: Sendable {
    package struct Counts: Sendable {
        var read = 0
        var rejected = 0
        /// Rows that are not the newest ones of their token or `installId`.
        var duplicates = 0
        /// Installations whose authorization is assumed.
        var assumed = 0
        /// Tags that cannot be topics.
        var ignoredTags = 0
        var skipped: [SkippedKind: Int] = [:]
        package var unknownNames: [String] = []
        /// Files that were cut off.
        package var endsEarly: [String] = []
        /// The rows of each file whose type is known.
        package var knownByFile: [String: Int] = [:]
        var notUnderstood = NotUnderstood()

        fileprivate var known: Int { read - skipped[.unknownType, default: 0] }
    }

    /// Installations of a chunk.
    private static let chunkCount = 500
    /// One transaction writes this many chunks. Meanwhile the thread reads those of the next transaction.
    private static let chunksMax = InstallationImporter.installationsPerTransaction / chunkCount

    /// The parsed installations, by the importer's lanes.
    private let lanes = (0..<InstallationImporter.laneCount).map { _ in
        ImportQueue<[ImportedInstallation]>(elementsMax: chunksMax)
    }
    private let state = Locked(Counts())

    package init() {}

    /// Of all rows, once the lanes have ended.
    package var counts: Counts { state.withLock { $0 } }

    /// Waits for installations of a lane; nil at the end.
    package func next(_ lane: Int) throws -> [ImportedInstallation]? { try lanes[lane].next() }

    /// Stops reading.
    package func stop() { finish(.success(())) }

    private func finish(_ result: Result<Void, any Error>) {
        for lane in lanes { lane.finish(result) }
    }

    /// Starts the thread.
    package func start(_ files: ImportFiles, _ plan: ImportPlan, _ rejects: RejectedLines) {
        let thread = Thread { [self] in
            finish(
                Result {
                    var reading = Reading(plan, rejects)
                    try files.forEachPart { part in
                        let knownBefore = reading.counts.known
                        try read(part, &reading)
                        reading.counts.knownByFile[part.file, default: 0] += reading.counts.known - knownBefore
                        return !reading.isFinished
                    }
                    for lane in lanes.indices { flush(lane, &reading) }
                    reading.counts.notUnderstood = reading.reader.notUnderstood
                    let counts = reading.counts
                    state.withLock { $0 = counts }
                    try rejects.close()
                })
        }
        thread.name = "import-reader"
        thread.start()
    }

    /// The state of the thread.
    private struct Reading {
        let source: ImportSource
        let rejects: RejectedLines
        let topics: ImportTopics?
        let webPushHosts: WebPushHosts
        var reader: ImportReader
        var choice: RowChoice?
        /// By lane.
        var chunks = [[ImportedInstallation]](repeating: [], count: InstallationImporter.laneCount)
        var counts = Counts()
        /// To the chunks.
        var added = 0
        var number: Int64 = 0
        /// Whether loading has failed, so that reading more rows is useless.
        var isFinished = false

        init(_ plan: ImportPlan, _ rejects: RejectedLines) {
            (source, self.rejects, topics) = (plan.source, rejects, plan.topics)
            webPushHosts = plan.webPushHosts
            (reader, choice) = (plan.reader, plan.choice)
        }
    }

    private func read(_ part: ImportFiles.Part, _ reading: inout Reading) throws {
        switch reading.source {
        case .own(let names): try readOwn(part, names, &reading)
        case .foreign(let reader): try readForeign(part, reader, &reading)
        }
    }

    private func add(_ installation: ImportedInstallation, _ reading: inout Reading) {
        guard reading.webPushHosts.allows(installation.token) else {
            reading.counts.skipped[.pushServiceNotAllowed, default: 0] += 1
            return
        }
        if installation.snapshot.settings.authorizationAssumed { reading.counts.assumed += 1 }
        // One transaction keeps the order of a small file, so that the first of two lines with one token is written.
        let isFirstSet = reading.added < InstallationImporter.installationsPerTransaction
        let lane = isFirstSet ? 0 : InstallationImporter.lane(of: installation)
        reading.added += 1
        reading.chunks[lane].append(installation)
        if reading.chunks[lane].count == Self.chunkCount { flush(lane, &reading) }
    }

    /// Puts a chunk into its queue.
    private func flush(_ lane: Int, _ reading: inout Reading) {
        let chunk = reading.chunks[lane]
        reading.chunks[lane] = []
        if !chunk.isEmpty, !lanes[lane].put(chunk) { reading.isFinished = true }
    }

    /// Whether the next row of the run is not the newest one of its token or `installId`. Then it is counted.
    private func isOlder(_ reading: inout Reading) throws -> Bool {
        let isOlder = try reading.choice?.older.contains(reading.number) ?? false
        reading.number += 1
        if isOlder { reading.counts.duplicates += 1 }
        return isOlder
    }

    private func reject(_ part: ImportFiles.Part, _ line: Int, _ faults: ImportFaults, _ reading: inout Reading) throws
    {
        reading.counts.rejected += 1
        try reading.rejects.add(part.name, line, faults)
    }
}

// MARK: - Our own format

extension ImportInput {
    private func readOwn(_ part: ImportFiles.Part, _ names: ImportNames, _ reading: inout Reading) throws {
        var rows = OwnRows(names)
        try rows.read(part.bytes) { line, record in
            guard !reading.isFinished else { return false }
            try take(record, part, line, &reading)
            return true
        }
        reading.counts.unknownNames = rows.unknownNames ?? reading.counts.unknownNames
        if rows.endsEarly { reading.counts.endsEarly.append(part.name) }
    }

    private func take(
        _ record: Result<ImportRecord, ImportFaults>, _ part: ImportFiles.Part, _ line: Int, _ reading: inout Reading
    ) throws {
        defer { reading.counts.read += 1 }
        guard try !isOlder(&reading) else { return }
        do throws(ImportFaults) {
            add(try reading.reader.installation(try record.get()), &reading)
        } catch {
            try reject(part, line, error, &reading)
        }
    }
}

// MARK: - Other systems

extension ImportInput {
    private func readForeign(_ part: ImportFiles.Part, _ reader: ForeignReader, _ reading: inout Reading) throws {
        guard var rows = try ForeignRows(part.bytes, reader.format.elements) else { return }
        while !reading.isFinished, let (line, row) = try rows.next() {
            switch row {
            case .failure(let faults):
                try choose(.failure(faults), part, line, &reading)
            case .success(let row):
                for row in reader.format.expand(row) {
                    let found = Result { () throws(ImportFaults) in (row, try reader.outcome(of: row)) }
                    try choose(found, part, line, &reading)
                }
            }
        }
        if rows.endsEarly { reading.counts.endsEarly.append(part.name) }
    }

    /// Loads a row if it is the newest one of its token.
    private func choose(
        _ found: Result<(ForeignRow, ForeignOutcome), ImportFaults>, _ part: ImportFiles.Part, _ line: Int,
        _ reading: inout Reading
    ) throws {
        defer { reading.counts.read += 1 }
        let supplements = try reading.choice?.completions.supplements(for: reading.number) ?? []
        guard try !isOlder(&reading) else { return }
        do throws(ImportFaults) {
            let (row, outcome) = try found.get()
            switch outcome {
            case .needsEnvironment: break
            case .skipped(let kind): reading.counts.skipped[kind, default: 0] += 1
            case .installation(let identity): try load(row, identity, supplements, &reading)
            }
        } catch {
            try reject(part, line, error, &reading)
        }
    }

    /// Only APNs has a state for users who do not want notifications; others are left out.
    private func load(
        _ row: ForeignRow, _ identity: ForeignIdentity, _ supplements: [RowSupplement], _ reading: inout Reading
    ) throws(ImportFaults) {
        guard case .foreign(let reader) = reading.source else { return }
        if identity.isOptedOut, !identity.token.provider.isApple {
            reading.counts.skipped[reader.optOut(of: row) ?? .optedOut, default: 0] += 1
            return
        }
        let whole = reader.supplement(of: row)?.completed(by: supplements)
        var unread: [(field: ImportField, value: String)] = []
        var record = reader.record(row, identity, unread: &unread)
        record[.userID] = record[.userID] ?? whole?.user
        var installation = try reading.reader.installation(record)
        for (field, value) in unread { reading.reader.notUnderstood.add(field, value) }
        if let topics = reading.topics {
            let found = topics.choices(of: whole?.tags ?? reader.tags(of: row))
            installation.topicChoices = found.choices
            reading.counts.ignoredTags += found.ignored
        }
        add(installation, &reading)
    }
}

/// Why an import failed.
package struct ImportFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// A bounded queue between two threads. `put` and `next` **block**.
final class ImportQueue<Element: Sendable>: @unchecked Sendable {
    private let condition = NSCondition()
    private let elementsMax: Int
    private var elements: [Element] = []
    private var end: Result<Void, any Error>?

    init(elementsMax: Int) {
        self.elementsMax = elementsMax
    }

    /// Waits until the queue has space.
    ///
    /// - Returns: false if the queue is finished.
    func put(_ element: Element) -> Bool {
        condition.withLock {
            while end == nil, elements.count >= elementsMax { condition.wait() }
            guard end == nil else { return false }
            elements.append(element)
            condition.signal()
            return true
        }
    }

    /// Finishes the queue. Only the first call has an effect.
    func finish(_ result: Result<Void, any Error> = .success(())) {
        condition.withLock {
            end = end ?? result
            condition.broadcast()
        }
    }

    /// Waits for an element.
    ///
    /// - Returns: nil if the queue is finished and empty.
    /// - Throws: the error with which the queue was finished, once it is empty.
    func next() throws -> Element? {
        try condition.withLock {
            while end == nil, elements.isEmpty { condition.wait() }
            guard !elements.isEmpty else {
                try end?.get()
                return nil
            }
            defer { condition.signal() }
            return elements.removeFirst()
        }
    }
}
