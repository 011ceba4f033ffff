import PushRegistry

/// Where in the table what is due lies, as it was found: pages in blocks, from which stretches for batches are made.
struct CleanUpStretches {
    /// A part of the table for one batch, and how many installations were due in it.
    struct Stretch: Hashable {
        let pages: TablePages
        let count: Int
    }

    /// The pages that are counted together: so few that all their installations fit into a batch or two.
    static let pagesPerBlock: Int64 = 64
    /// However little is due: 32 MiB are read in some tens of milliseconds.
    static let pagesPerStretchMax: Int64 = 4_096

    /// In the order of the table.
    private var found: [(block: Int64, app: AppNumber, count: Int)] = []
    private var position = 0

    /// How many are due in all of it.
    var count: Int { found.reduce(0) { $0 + $1.count } }

    /// - Parameter block: the number of the first page by `pagesPerBlock`; not below the one before.
    mutating func add(_ count: Int, of app: AppNumber, in block: Int64) {
        found.append((block, app, count))
    }

    mutating func remove(_ apps: Set<AppNumber>) {
        found.removeAll { apps.contains($0.app) }
    }

    /// The next one, of at most `batch` installations, but for a block in which there are more; nil when there is nothing left.
    mutating func next(of batch: Int) -> Stretch? {
        guard position < found.count else { return nil }
        var open = (first: found[position].block, last: found[position].block, count: 0)
        while position < found.count {
            let (block, _, count) = found[position]
            guard block == open.last || Self.fits(open.first, block, open.count + count, batch) else { break }
            open = (open.first, block, open.count + count)
            position += 1
        }
        return Self.stretch(open)
    }

    private static func fits(_ first: Int64, _ block: Int64, _ count: Int, _ batch: Int) -> Bool {
        count <= batch && (block + 1 - first) * pagesPerBlock <= pagesPerStretchMax
    }

    private static func stretch(_ blocks: (first: Int64, last: Int64, count: Int)) -> Stretch {
        Stretch(
            pages: TablePages(range: blocks.first * pagesPerBlock..<(blocks.last + 1) * pagesPerBlock),
            count: blocks.count)
    }
}
