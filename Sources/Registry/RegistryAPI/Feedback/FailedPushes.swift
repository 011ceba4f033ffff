import PushRegistry
import Receipts

/// The verdicts of one call that name a message: each counts as a failed push of it, also if it changes no installation
/// (fine print 98).
struct FailedPushes: Sendable {
    /// A verdict without a receipt: its installation is found by its id, its main token or a typed one.
    private struct Named: Sendable {
        let item: FeedbackItem
        let message: MessageName
    }

    private let receipts: [ReceiptReport]
    private let named: [Named]

    init(_ items: [FeedbackItem], of app: App, _ keys: ReceiptKeys, at now: Timestamp) {
        var (receipts, named) = ([ReceiptReport](), [Named]())
        for item in items where item.canMatter {
            if let receipt = item.receipt {
                guard let content = Receipt(receipt)?.open(app, keys), content.expiresAt > now else { continue }
                receipts.append(ReceiptReport(content, .failed, at: nil))
            } else if let message = item.message {
                named.append(Named(item: item, message: message))
            }
        }
        (self.receipts, self.named) = (receipts, named)
    }

    /// The installations as they are before the verdicts are applied: a verdict may take the token away.
    ///
    /// - Throws: `StoreError`.
    func located(in app: App, _ store: any MessageStore) async throws -> Located {
        guard !named.isEmpty else { return Located(receipts: receipts, failures: []) }
        let now = Timestamp.now()
        let messages = try await store.messages(named: Array(Set(named.map(\.message))), of: app.number)
        let byToken = named.map(\.item).filter { $0.installID == nil }
        let cells = try await store.cells(
            ofHolders: byToken.filter { $0.kind == nil }.flatMap(\.addresses),
            and: named.compactMap(\.item.installID), in: app.number)
        // Only tokens that are no main ones cost this look-up.
        let others = byToken.filter { cells.holder(of: $0) == nil }.flatMap(\.typedAddresses)
        let typed = try await store.cells(ofTyped: Array(Set(others)), in: app.number)
        let hasher = InstallationHasher(app.identityKey)
        let failures = named.compactMap { verdict -> Located.Failure? in
            guard let message = messages[verdict.message], !message.isExpired(at: now) else { return nil }
            let item = verdict.item
            let entry =
                item.installID.map { cells.named[$0] } ?? cells.holder(of: item)
                ?? item.typedAddresses.lazy.compactMap { typed[$0] }.first { item.admits($0.provider) }
            guard let entry, item.verdict(by: entry.provider) != nil else { return nil }
            return Located.Failure(message: message, installation: hasher.hash(entry.installID), cell: entry.cell)
        }
        return Located(receipts: receipts, failures: failures)
    }

    struct Located: Sendable {
        struct Failure: Sendable {
            let message: Message
            let installation: InstallationHash
            let cell: Int64
        }

        let receipts: [ReceiptReport]
        let failures: [Failure]

        /// Counts them, each installation once.
        ///
        /// - Throws: `StoreError`.
        func count(in app: AppNumber, _ store: any MessageStore) async throws {
            // Without a record of targets, the verdict counts where the installation is now.
            let unrecorded = failures.filter { !$0.message.content.isRecorded }.map { failure in
                ReceiptReport(
                    message: failure.message.number, installation: failure.installation, cell: failure.cell,
                    event: .failed, at: nil)
            }
            _ = try await store.count(receipts + unrecorded, of: app)
            let recorded = Dictionary(grouping: failures.filter(\.message.content.isRecorded), by: \.message.number)
            for (message, failures) in recorded {
                _ = try await store.count(.failed, at: failures.map(\.installation), for: message, of: app)
            }
        }
    }
}

extension InstallationCells {
    /// The installation that has the item's token as its main one.
    fileprivate func holder(of item: FeedbackItem) -> Entry? {
        item.kind == nil ? item.addresses.lazy.compactMap { holders[$0] }.first : nil
    }
}
