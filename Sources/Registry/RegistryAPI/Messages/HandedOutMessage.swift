import PushRegistry
import Receipts
import StrictJSON

/// A message for which an export or a list hands out installations.
struct HandedOutMessage: Sendable {
    let message: Message
    let sealer: ReceiptSealer
    let app: AppNumber

    /// Installations that are handed out, until they are counted.
    struct Batch: Sendable {
        /// Rows by cell, of a message that is not recorded.
        fileprivate(set) var cells: [Int64: Int] = [:]
        /// The installations, of a recorded message.
        fileprivate(set) var targets: [MessageTarget] = []
        fileprivate(set) var rows = 0

        mutating func removeAll() {
            cells.removeAll(keepingCapacity: true)
            targets.removeAll(keepingCapacity: true)
            rows = 0
        }
    }

    /// Appends the receipt of an installation, in base64url, and adds the installation to the batch.
    ///
    /// - Parameters:
    ///   - installID: its UTF-8.
    ///   - userID: remembered for a recorded message.
    ///   - encoder: of `sealer`.
    /// - Throws: `StoreError.failed`.
    func appendReceipt(
        of installID: UnsafeRawBufferPointer, in cell: Int64, user userID: String?, by encoder: ReceiptEncoder,
        _ batch: inout Batch, to bytes: inout [UInt8]
    ) throws(StoreError) {
        let installation = try encoder.hash(installID)
        try encoder.append(installation, in: cell, to: &bytes)
        batch.rows += 1
        if message.content.isRecorded {
            batch.targets.append(
                MessageTarget(
                    installation: installation, cell: cell, installID: String(decoding: installID, as: UTF8.self),
                    userID: userID))
        } else {
            batch.cells[cell, default: 0] += 1
        }
    }
}

extension RegistryService {
    /// The message that a body names, with its sealer. It remembers the segments that the body's filter names.
    ///
    /// - Parameter filter: of the body, whose segments exist.
    /// - Throws: `JSONFaults` for an unknown one, `APIError.messageExpired`.
    func handedOut(
        _ reference: MessageReference, for filter: AudienceFilter, by call: AppCall
    ) async throws -> HandedOutMessage {
        let handedOut = try await handedOut(reference, by: call)
        let segments = Set(filter.segments.map(\.name)).subtracting(handedOut.message.segments)
        if !segments.isEmpty {
            try await messages.record(
                segments.sorted { $0.rawValue < $1.rawValue }, for: handedOut.message.number, of: handedOut.app)
        }
        return handedOut
    }

    /// The message that a body names, with its sealer.
    ///
    /// - Throws: `JSONFaults` for an unknown one, `APIError.messageExpired`.
    func handedOut(_ reference: MessageReference, by call: AppCall) async throws -> HandedOutMessage {
        var found: Message?
        if let name = reference.name { found = try await messages.message(name, of: call.app.number) }
        guard let message = found else {
            throw JSONFaults([
                JSONFault(pointer: "/message", code: .unknownMessage, detail: "The app has no such message.")
            ])
        }
        guard !message.isExpired(at: .now()) else { throw APIError.messageExpired }
        guard let sealer = ReceiptSealer(message, of: call.app, receiptKeys) else {
            throw StoreError.failed("the app has no signing key")
        }
        return HandedOutMessage(message: message, sealer: sealer, app: call.app.number)
    }

    /// Counts the rows of a batch, and stores the targets of a recorded message.
    func count(_ batch: inout HandedOutMessage.Batch, of message: HandedOutMessage) async throws {
        defer { batch.removeAll() }
        if !batch.targets.isEmpty {
            try await messages.target(batch.targets, for: message.message, of: message.app, at: .now())
        }
        try await messages.count(batch.cells, for: message.message.number, of: message.app)
    }
}

/// The member `message` of a body that hands out installations.
struct MessageReference: Sendable {
    /// Nil for a text that cannot be a message's name.
    let name: MessageName?

    init(_ text: String) {
        name = try? MessageName(text)
    }

    /// Nil if the member is absent.
    ///
    /// - Throws: 403 for a caller without the role `sender`: a receipt is for the program that sends the push.
    init?(_ root: JSONObject, _ caller: Caller) throws(RefusedCall) {
        guard let text = root.value("message")?.text() else { return nil }
        guard caller.has(any: [.sender]) else {
            throw RefusedCall(.forbidden("Receipts require a key with the role sender."), caller)
        }
        name = try? MessageName(text)
    }
}

extension JSONFault.Code {
    static let unknownMessage = JSONFault.Code(rawValue: "unknown-message")
}
