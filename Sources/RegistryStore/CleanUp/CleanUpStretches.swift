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

    /// - Parameter block: the number of the first page by `pagesPerBlock`; not below the one before.
    mutating func add(_ count: Int, of app: AppNumber, in block: Int64) {
        found.append((block, app, count))
    }

    /// Stretches of at most `batch` installations, but for blocks in which there are more, without what `refused` apps have.
    func stretches(of batch: Int, without refused: Set<AppNumber>) -> [Stretch] {
        var stretches: [Stretch] = []
        var open: (first: Int64, last: Int64, count: Int)?
        for (block, app, count) in found where !refused.contains(app) {
            if let (first, last, sum) = open, block == last || fits(first, block, sum + count, batch) {
                open = (first, block, sum + count)
            } else {
                if let open { stretches.append(Self.stretch(open)) }
                open = (block, block, count)
            }
        }
        if let open { stretches.append(Self.stretch(open)) }
        return stretches
    }

    private func fits(_ first: Int64, _ block: Int64, _ count: Int, _ batch: Int) -> Bool {
        count <= batch && (block + 1 - first) * Self.pagesPerBlock <= Self.pagesPerStretchMax
    }

    private static func stretch(_ blocks: (first: Int64, last: Int64, count: Int)) -> Stretch {
        Stretch(
            pages: TablePages(range: blocks.first * pagesPerBlock..<(blocks.last + 1) * pagesPerBlock),
            count: blocks.count)
    }
}
