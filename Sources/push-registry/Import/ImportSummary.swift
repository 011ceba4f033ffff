import RegistryStore

/// The outcomes of the lines of a file, or the expected ones of a dry run.
struct ImportSummary: Encodable {
    let read: Int
    let imported: Int
    let unchanged: Int
    let skipped: Int
    let rejected: Int
    let isDryRun: Bool
    /// The report of the rejected lines; nil if there are none.
    let rejects: String?

    init(_ input: ImportInput.Counts, _ counts: InstallationImporter.Counts, isDryRun: Bool, rejectsPath: String) {
        read = input.read
        imported = counts.imported
        unchanged = counts.unchanged
        skipped = counts.skipped
        rejected = input.rejected
        self.isDryRun = isDryRun
        rejects = rejected > 0 ? rejectsPath : nil
    }

    var text: String {
        """
        read \(read), \(isDryRun ? "would import" : "imported") \(imported), unchanged \(unchanged), \
        skipped \(skipped), rejected \(rejected)\(rejects.map { " (see \($0))" } ?? "")
        """
    }
}

/// The progress line of an import, with its rate.
struct ImportProgress: Sendable {
    private let line = ProgressLine()
    private let start = ContinuousClock.now

    func show(_ counts: InstallationImporter.Counts) {
        let done = counts.imported + counts.unchanged + counts.skipped
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        line.show("\(done) lines, \(counts.imported) imported, \(Int(Double(done) / max(seconds, 0.001))) per second")
    }

    func clear() { line.clear() }
}
