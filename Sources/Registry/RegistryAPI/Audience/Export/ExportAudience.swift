// POST /v1/apps/{app}/audience/export

import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    /// Streams an audience of any size in constant memory: rows are read only as fast as the client takes them. After
    /// an error the connection is reset, so that a complete response is a complete export.
    var exportAudience: Route {
        audienceRoute("/export") { request, call in
            let bytes = try exportBody(of: request)
            let names = names(for: call)
            let body = try await parsing(bytes.count) {
                try AudienceBody.parse(
                    bytes, in: vocabulary(of: call.app),
                    members: [
                        "format", "fields", "after", "spreadsheetSafe", "spreadsheetSeparator", "message", "kind",
                        "name",
                    ]
                ) { root in
                    try ExportOptions(root, names, call.caller)
                }
            }
            let (audience, options) = (try await audience(body, for: call), body.options)
            var message: HandedOutMessage?
            if let reference = options.message { message = try await handedOut(reference, for: body.filter, by: call) }
            let encoder = ExportEncoder(
                options.fields, options.format, names.typed(body.tokens != nil), message: message,
                isSpreadsheetSafe: options.isSpreadsheetSafe, spreadsheet: options.spreadsheet)
            let slot = try await audiences.makeExportSlot(of: audience.app)
            audit.read("audience export begun", options.metadata, by: call, in: request)
            return ServerResponse(
                .ok,
                fields: [
                    .contentType: options.format.mediaType,
                    .contentDisposition:
                        "attachment; filename=\"\(call.app.id)-audience.\(options.format.rawValue)\"",
                ],
                body: .stream { writer in
                    defer { withExtendedLifetime(slot) {} }
                    let rows = try await export(audience, encoder, from: options.position, to: writer)
                    audit.read("audience export ended", ["rows": "\(rows)"], by: call, in: request)
                })
        }
    }

    /// The JSON of an export. The console's page also sends it as the field `body` of a form, because a browser
    /// downloads the response to a form without keeping it in memory.
    private func exportBody(of request: ServerRequest) throws -> [UInt8] {
        guard case .session = authentication, let text = try request.formField("body") else {
            return try request.jsonBody()
        }
        return Array(text.utf8)
    }

    /// - Returns: the number of rows.
    private func export(
        _ audience: Audience, _ encoder: ExportEncoder, from position: AudiencePosition, to writer: ResponseBodyWriter
    ) async throws -> Int {
        var count = 0
        var batch = HandedOutMessage.Batch()
        do {
            try await writer.write(encoder.header)
            try await audiences.export(audience, encoder.columns, from: position) { rows in
                let bytes = try encoder.encode(rows, &batch)
                // Targets are stored before their rows are sent. Other rows are counted many at a time.
                if let message = encoder.message, !batch.targets.isEmpty || batch.rows >= Self.countedRows {
                    try await self.count(&batch, of: message)
                }
                try await writer.write(bytes)
                count += rows.count
            }
        } catch {
            // Counts the written rows, also if the client has closed the connection.
            if let message = encoder.message { try? await self.count(&batch, of: message) }
            throw error
        }
        if let message = encoder.message { try await self.count(&batch, of: message) }
        return count
    }

    /// Rows of an export that are counted together. If the process is killed, at most this many sent rows are not
    /// counted.
    private static let countedRows = 10_000
}

/// What a spreadsheet expects between the cells of CSV: a semicolon where the comma is the decimal separator.
enum SpreadsheetSeparator: String, Sendable, CaseIterable {
    case comma = ","
    case semicolon = ";"
}

/// The members `format`, `fields`, `after`, `spreadsheetSafe`, `spreadsheetSeparator` and `message`.
struct ExportOptions: Sendable {
    let format: ExportFormat
    let fields: [ExportField]
    let position: AudiencePosition
    /// Whether the CSV is safe to open in a spreadsheet: any client can set the carrier and the device model. True by
    /// default for marketing, false for senders, whose programs need every byte unchanged.
    let isSpreadsheetSafe: Bool
    /// Nil for RFC 4180, which programs expect.
    let spreadsheet: SpreadsheetSeparator?
    let message: MessageReference?

    /// Nil after a fault.
    ///
    /// - Throws: 403 for fields that the caller's role must not see.
    init?(_ root: JSONObject, _ names: InstallationNames, _ caller: Caller) throws(RefusedCall) {
        message = try MessageReference(root, caller)
        format = Self.choice("format", root) ?? .ndjson
        let position = root.position("after", names)
        isSpreadsheetSafe = root.boolean("spreadsheetSafe") ?? !caller.has(any: [.sender])
        spreadsheet = Self.choice("spreadsheetSeparator", root)
        guard let fields = try Self.fields(root, format, caller), let position else { return nil }
        (self.fields, self.position) = (fields, position)
    }

    /// Nil without the member, and after a fault.
    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: StaticString, _ root: JSONObject
    ) -> Choice? {
        guard let value = root.value(name), let text = value.text() else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue).joined(separator: " ")
        value.refuse(.unknownValue, "This must be one of \(names).")
        return nil
    }

    private static func fields(
        _ root: JSONObject, _ format: ExportFormat, _ caller: Caller
    ) throws(RefusedCall) -> [ExportField]? {
        let isSender = caller.has(any: [.sender])
        let isTyped = root.value("kind") != nil
        guard let value = root.value("fields") else {
            return ExportField.standard(sender: isSender, format, isTyped: isTyped)
        }
        guard let array = value.array(elementsMax: .max) else { return nil }
        var fields: [ExportField] = []
        for element in array {
            guard let name = element.text() else { continue }
            guard let field = ExportField(name), field != .id || caller.has(any: [.marketing]) else {
                let names = ExportField.names
                element.refuse(.unknownField, "No field has this name. " + NearestName.hint(for: name, among: names))
                continue
            }
            guard isTyped || !field.isOfTypedTokens else {
                element.refuse(.unknownField, "This field requires a kind.")
                continue
            }
            guard isSender || !field.isForSenders else {
                throw RefusedCall(
                    .forbidden(
                        "The field \(name) requires a key with the role sender: it identifies or reaches a person."),
                    caller)
            }
            if field == .keys, format == .csv {
                element.refuse(.unknownField, "CSV has the fields p256dh and auth instead.")
            }
            if fields.contains(field) { element.refuse(.duplicateMember, "The field occurs twice.") }
            fields.append(field)
        }
        if array.isEmpty { value.refuse(.required, "At least one field is required.") }
        return fields
    }

    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "format": "\(format.rawValue)", "fields": "\(fields.map(\.name).joined(separator: ","))",
        ]
        if let name = message?.name { metadata["message"] = "\(name)" }
        return metadata
    }
}
