// POST /v1/apps/{app}/audience/installations

import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import Receipts
import StrictJSON

extension RegistryService {
    var listAudience: Route {
        audienceRoute("/installations") { request, call in
            let names = names(for: call)
            let body = try await request.parsedJSON { bytes in
                try AudienceBody.parse(
                    bytes, in: vocabulary(of: call.app),
                    members: ["limit", "after", "explain", "message", "kind", "name"]
                ) { root in
                    try PageOptions(root, names, call.caller)
                }
            }
            let audience = try await audience(body, for: call)
            var message: HandedOutMessage?
            if let reference = body.options.message {
                message = try await handedOut(reference, for: body.filter, by: call)
            }
            let page = try await audiences.page(
                audience, from: body.options.position, limit: body.options.limit,
                explains: body.explains)
            let receipts = try await receipts(of: page, message)
            audit.read("audience listed", ["installations": "\(page.items.count)"], by: call, in: request)
            return .json(JSONWriter(page, names, receipts))
        }
    }

    /// The receipts of a page, which are counted; empty without a message.
    private func receipts(of page: AudiencePage, _ message: HandedOutMessage?) async throws -> [String] {
        guard let message else { return [] }
        var batch = HandedOutMessage.Batch()
        let receipts = try receipts(of: page, message, &batch)
        try await count(&batch, of: message)
        return receipts
    }

    private func receipts(
        of page: AudiencePage, _ message: HandedOutMessage, _ batch: inout HandedOutMessage.Batch
    ) throws -> [String] {
        let encoder = try ReceiptEncoder(message.sealer)
        return try page.items.map { item in
            var receipt: [UInt8] = []
            try Array(item.installID.rawValue.utf8).withUnsafeBytes { installID in
                try message.appendReceipt(
                    of: installID, in: item.cell, user: item.userID, by: encoder, &batch, to: &receipt)
            }
            return String(decoding: receipt, as: UTF8.self)
        }
    }
}

/// The members `limit`, `after` and `message`.
private struct PageOptions {
    let limit: Int
    let position: AudiencePosition
    let message: MessageReference?

    /// Nil after a fault.
    ///
    /// - Throws: 403 for a message that the caller's role must not name.
    init?(_ root: JSONObject, _ names: InstallationNames, _ caller: Caller) throws(RefusedCall) {
        message = try MessageReference(root, caller)
        let (limit, position) = (root.limit(), root.position("after", names))
        guard let limit, let position else { return nil }
        (self.limit, self.position) = (limit, position)
    }
}

extension JSONObject {
    /// The position at which the rows begin; nil after a fault.
    func position(_ name: StaticString, _ names: InstallationNames) -> AudiencePosition? {
        let names = names.typed(self.value("kind") != nil)
        guard let value = value(name) else { return names.position(after: nil) }
        guard let text = value.string(scalarsMax: 4 * Device.textScalarsMax) else { return nil }
        guard let position = names.position(after: text) else {
            value.refuse(.invalidCursor, "Not a cursor of this list.")
            return nil
        }
        return position
    }
}

extension JSONWriter {
    /// `{asOf, installations: […], next}`.
    ///
    /// - Parameter receipts: one for each installation, or none.
    fileprivate init(_ page: AudiencePage, _ names: InstallationNames, _ receipts: [String]) {
        let last = page.hasMore ? page.items.last : nil
        self.init(capacity: 256 * (page.items.count + 1)) { writer in
            writer.member("asOf", page.asOf.description)
            writer.array("installations", page.items.enumerated()) { writer, item in
                writer.item(item.element, names, receipt: receipts.isEmpty ? nil : receipts[item.offset])
            }
            writer.member("next", last.flatMap(names.cursor))
            writer.member(page.plan)
        }
    }

    private mutating func item(_ item: AudiencePage.Item, _ names: InstallationNames, receipt: String?) {
        object { writer in
            switch names {
            case .opaque: writer.member("id", item.opaqueID?.text)
            case .open:
                writer.member("installId", item.installID.rawValue)
                writer.member("provider", item.provider)
                writer.member("token", item.token?.text)
                writer.member("addressKind", item.token?.addressKind.rawValue)
                if let typed = item.typed {
                    writer.member("environment", item.token?.provider.environment)
                    writer.member("name", typed.name.isEmpty ? nil : typed.name)
                    writer.member("expiresAt", typed.expiresAt?.description)
                }
                writer.member("generation", item.generation)
                if let keys = item.keys { writer.member(keys) }
                if let receipt { writer.member("receipt", receipt) }
            }
        }
    }
}
