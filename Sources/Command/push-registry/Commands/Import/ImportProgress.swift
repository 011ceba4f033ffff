import RegistryJobs

/// The progress line of an import, with its rate and the time that is left.
struct ImportProgress: Sendable {
    private static let rowsBetween: Int64 = 50_000

    private let line = ProgressLine()
    private let start = ContinuousClock.now

    /// The first pass over the rows of another system.
    func showScan(_ rows: Int64) {
        if rows % Self.rowsBetween == 0 { line.show("reading: \(rows) rows") }
    }

    /// - Parameter share: how much of the files was read, 0 to 1; nil if it is not known.
    func show(_ counts: InstallationImporter.Counts, share: Double?) {
        let done = counts.imported + counts.unchanged + counts.skipped
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        var text = "\(done) rows, \(counts.imported) imported, \(Int(Double(done) / max(seconds, 0.001))) per second"
        if let share, share > 0 {
            text += ", \(Int(share * 100)) %, \(Int((seconds / share - seconds).rounded(.up))) s left"
        }
        line.show(text)
    }

    func clear() { line.clear() }
}
