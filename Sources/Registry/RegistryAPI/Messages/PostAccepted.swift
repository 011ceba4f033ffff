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
            let found = await Self.result { try await message(of: call, in: request) }
            // Outside of the event loop: opening thousands of receipts takes tens of milliseconds.
            let (app, keys, number) = (call.app, receiptKeys, try? found.get().number)
            let parsed = try await offLoop {
                let (hasher, now) = (InstallationHasher(app.identityKey), Timestamp.now())
                return try ListBody.parse(bytes, as: form) {
                    AcceptedItem($0, of: number, app, keys, hasher, at: now)
                }
            }
            // A fault of the body comes before an unknown message.
            return .json(try await count(parsed, of: try found.get(), in: app.number))
        }
    }

    private static func result<Value>(_ read: () async throws -> Value) async -> Result<Value, any Error> {
        do { return .success(try await read()) } catch { return .failure(error) }
    }

    fileprivate func count(
        _ body: ListBody<AcceptedItem>, of message: Message, in app: AppNumber
    ) async throws -> JSONWriter {
        let receipts = body.items.compactMap { if case .receipt(let report) = $0 { report } else { nil } }
        let installations = body.items.compactMap { if case .installation(let hash) = $0 { hash } else { nil } }
        let proven = try await messages.count(receipts, of: app)
        let named = try await messages.count(.accepted, at: installations, for: message.number, of: app)
        let accepted = proven.count { $0 } + named.count { $0 == .counted }
        let unknown = named.count { $0 == .unknown }
        return JSONWriter { writer in
            writer.member("received", body.items.count + body.invalid)
            writer.member("accepted", accepted)
            writer.member("duplicate", proven.count + named.count - accepted - unknown)
            writer.member("unknown", unknown)
            writer.invalidItems(of: body)
        }
    }
}

/// `{"receipt"}` or `{"installId"}`. If both are sent, the receipt counts.
private enum AcceptedItem: Sendable {
    case receipt(ReceiptReport)
    case installation(InstallationHash)

    /// Nil after a fault.
    init?(
        _ value: JSONValue, of message: MessageNumber?, _ app: App, _ keys: ReceiptKeys, _ hasher: InstallationHasher,
        at now: Timestamp
    ) {
        guard let root = value.object() else { return nil }
        root.refuseUnknownMembers(besides: ["receipt", "installId"])
        if let receipt = root.value("receipt") {
            guard let text = receipt.string(scalarsMax: Device.textScalarsMax) else { return nil }
            guard let content = Receipt(text)?.open(app, keys), content.message == message,
                content.expiresAt > now
            else {
                receipt.refuse(.unknownValue, "This is not a receipt of the message, or it has expired.")
                return nil
            }
            self = .receipt(ReceiptReport(content, .accepted, at: nil))
        } else if let install = root.value("installId") {
            guard let id = install.parsedText(InstallID.init(_:)) else { return nil }
            self = .installation(hasher.hash(id))
        } else {
            value.refuse(.required, "An item needs receipt or installId.")
            return nil
        }
    }
}
