// POST /v1/apps/{app}/messages/{message}/accepted

import EventLoop
import HTTPApplication
import HTTPTypes
import PushRegistry
import Receipts
import StrictJSON

extension RegistryService {
    /// Counts the pushes that the provider accepted: by receipts, or by the ids of recorded targets.
    var postAccepted: Route {
        appRoute(
            .post, Self.messagePattern + "/accepted", allowing: [.sender], bodyBytesMax: bodyLimits.feedbackBytesMax
        ) { request, call in
            let (bytes, form) = try request.listBody()
            let lines = try await parsing(bytes.count) { try Self.items(of: bytes, as: form) }
            guard lines.count <= FeedbackBody.itemsMax else { throw APIError.tooManyItems(max: FeedbackBody.itemsMax) }
            let message = try await message(of: call, in: request)
            // Outside of the event loop: opening thousands of receipts takes tens of milliseconds.
            let (app, keys) = (call.app, receiptKeys)
            let accepted = await offLoop { AcceptedLines(lines, of: message, app, keys, at: .now()) }
            return .json(try await count(accepted, of: message, in: app.number))
        }
    }

    /// The texts of the items: lines, or the elements of an array.
    private static func items(of bytes: [UInt8], as form: ListForm?) throws(JSONFaults) -> [ArraySlice<UInt8>] {
        guard form == .array else {
            return bytes.split(separator: UInt8(ascii: "\n")).filter { line in
                !line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) }
            }
        }
        let document = try JSONDocument(bytes)
        guard let array = document.root.array(elementsMax: .max) else { throw JSONFaults(document.faults) }
        return array.map(\.rawBytes)
    }

    private func count(_ lines: AcceptedLines, of message: Message, in app: AppNumber) async throws -> JSONWriter {
        let proven = try await messages.count(lines.receipts, of: app)
        let named = try await messages.count(.accepted, at: lines.installations, for: message.number, of: app)
        let accepted = proven.count { $0 } + named.count { $0 == .counted }
        let unknown = named.count { $0 == .unknown }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("received", proven.count + named.count + lines.invalid)
            writer.member("accepted", accepted)
            writer.member("duplicate", proven.count + named.count - accepted - unknown)
            writer.member("unknown", unknown)
            writer.member("invalid", lines.invalid)
        }
        return writer
    }
}

/// The lines `{"receipt"}` or `{"installId"}`.
private struct AcceptedLines: Sendable {
    private(set) var receipts: [ReceiptReport] = []
    private(set) var installations: [InstallationHash] = []
    private(set) var invalid = 0

    init(_ lines: [ArraySlice<UInt8>], of message: Message, _ app: App, _ keys: ReceiptKeys, at now: Timestamp) {
        let hasher = InstallationHasher(app.identityKey)
        for line in lines {
            guard let document = try? JSONDocument(Array(line)), let root = document.root.object() else {
                invalid += 1
                continue
            }
            root.refuseUnknownMembers(besides: ["receipt", "installId"])
            let receipt = root.string("receipt", scalarsMax: Device.textScalarsMax)
            let installID = root.string("installId", scalarsMax: Device.textScalarsMax).flatMap { try? InstallID($0) }
            if !document.faults.isEmpty {
                invalid += 1
            } else if let receipt {
                if let content = Receipt(receipt)?.open(app, keys), content.message == message.number,
                    content.expiresAt > now
                {
                    receipts.append(ReceiptReport(content, .accepted, at: nil))
                } else {
                    invalid += 1
                }
            } else if let installID {
                installations.append(hasher.hash(installID))
            } else {
                invalid += 1
            }
        }
    }
}
