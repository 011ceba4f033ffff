import Foundation
import Glibc
import RegistryStore

/// What became of the lines of a file; of a dry run, what would.
struct ImportSummary: Encodable {
    let read: Int
    let imported: Int
    let unchanged: Int
    let skipped: Int
    let rejected: Int
    let isDryRun: Bool
    /// Where the rejected lines are told; nil if there are none.
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

/// One line of the standard error that counts up; nothing where that is no terminal.
final class ImportProgress: Sendable {
    private let input: ImportInput
    private let start = ContinuousClock.now
    private let isShown = isatty(STDERR_FILENO) == 1

    init(_ input: ImportInput) {
        self.input = input
    }

    func show(_ counts: InstallationImporter.Counts) {
        guard isShown else { return }
        let done = counts.imported + counts.unchanged + counts.skipped
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        Self.tell(
            "\r\(done) lines, \(counts.imported) imported, \(Int(Double(done) / max(seconds, 0.001))) a second\u{1B}[K")
    }

    func finish() {
        if isShown { Self.tell("\r\u{1B}[K") }
    }

    static func tell(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
