import PushRegistry
import Testing

@testable import RegistryStore

@Suite("The reports of a batch are merged, and the first one of an event counts")
struct ReceiptBatchTests {
    private static let message = MessageNumber(179_534_000_000)
    private static let key = ReceiptBatch.Key(installation: InstallationHash(1), message: message)

    private func report(_ event: MessageEvents, at installation: Int64 = 1, minute: Int64 = 0) -> ReceiptReport {
        ReceiptReport(
            message: Self.message, installation: InstallationHash(installation), cell: 4, event: event,
            at: Timestamp(microseconds: minute * 60_000_000))
    }

    private func addition(_ events: MessageEvents, cell: Int64? = 4) -> [ReceiptBatch.Key: ReceiptBatch.Addition] {
        [Self.key: ReceiptBatch.Addition(events: events, cell: cell)]
    }

    @Test func opened_addsDelivered_inOneRow() {
        let batch = ReceiptBatch([[report(.opened)], [report(.delivered), report(.dismissed)]])
        #expect(batch.rows.map(\.events) == [[.opened, .delivered, .dismissed]])
        #expect(batch.outcomes(addition([.opened, .delivered, .dismissed])) == [[true], [false, true]])
    }

    @Test func events_doNotCount_whenTheRowHadThemBefore() {
        let batch = ReceiptBatch([[report(.delivered), report(.opened)]])
        #expect(batch.outcomes([:]) == [[false, false]])
        #expect(batch.outcomes(addition(.opened)) == [[false, true]])
        #expect(batch.outcomes(addition([.opened, .delivered])) == [[true, true]])
    }

    @Test func rows_areInTheOrderOfTheirKeys() {
        let batch = ReceiptBatch([
            [report(.delivered, at: 3), report(.delivered, at: -2)], [report(.delivered, at: 0)],
        ])
        #expect(batch.rows.map(\.installation.rawValue) == [-2, 0, 3])
    }

    @Test func delta_countsEachEvent_inTheMinuteOfItsFirstReport() {
        let batch = ReceiptBatch([[report(.opened, minute: 1), report(.dismissed, minute: 3)]])
        let delta = batch.delta(addition([.opened, .delivered, .dismissed]))
        #expect(delta.total.delivered == 1 && delta.total.opened == 1 && delta.total.dismissed == 1)
        #expect(delta.count == 2)
    }

    @Test func delta_isEmpty_whenNothingWasAdded() {
        #expect(ReceiptBatch([[report(.opened)]]).delta([:]).statement(in: AppNumber(1)) == nil)
    }
}

extension MessageDelta {
    fileprivate var count: Int { all.count }
    fileprivate var total: MessageCounts { all.reduce(into: MessageCounts()) { $0 += $1 } }
}
