import PushRegistry
import StrictJSON

/// Parses a line of NDJSON.
enum ImportLine {
    /// The first line of the bytes; nil if it is incomplete.
    static func cut(
        _ bytes: ArraySlice<UInt8>, isEnd: Bool
    ) throws(ImportFaults) -> RecordCutter.Cut<ArraySlice<UInt8>>? {
        let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
        guard end != nil || isEnd else { return nil }
        let line = bytes[..<(end ?? bytes.endIndex)]
        let isBlank = line.allSatisfy {
            $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
        }
        return RecordCutter.Cut(
            content: isBlank ? nil : line, byteCount: line.count + (end == nil ? 0 : 1), lineCount: 1)
    }

    static func record(_ line: ArraySlice<UInt8>, _ names: inout ImportNames) throws(ImportFaults) -> ImportRecord {
        do throws(JSONFaults) {
            let document = try JSONDocument(Array(line))
            var record = ImportRecord()
            names.beginLine()
            document.root.object()?.forEachMember { member in
                let field = names.field(member)
                guard member.value.kind != .null else { return }
                if let field {
                    record[field] = member.value.text(of: field)
                } else if member.name == "keys" {
                    record.readKeys(member.value)
                } else {
                    names.noteUnknown(member.name)
                }
            }
            try document.check()
            return record
        } catch {
            throw ImportFaults(error)
        }
    }
}

extension ImportFaults {
    init(_ faults: JSONFaults) {
        // The names of members are data: one may be a token.
        self.init(
            faults.faults.map { ImportFault(NotUnderstood.printable(String($0.pointer.dropFirst())) ?? "", $0.reason) })
    }
}

extension JSONFault {
    fileprivate var reason: InvalidValue { InvalidValue(code: code.rawValue, detail: detail) }
}

extension ImportRecord {
    fileprivate mutating func readKeys(_ value: JSONValue) {
        guard let keys = value.object() else { return }
        self[.p256dh] = keys.string("p256dh", scalarsMax: Device.textScalarsMax)
        self[.auth] = keys.string("auth", scalarsMax: Device.textScalarsMax)
    }
}

extension JSONValue {
    /// A text, a number or a flag as a text, whatever the field: `ImportReader` knows what the field can be. Nil after
    /// a fault.
    fileprivate func text(of field: ImportField) -> String? {
        switch (kind, field.kind) {
        case (.number, _), (.boolean, _), (.array, .texts): String(decoding: rawBytes, as: UTF8.self)
        case (.object, .location): locationText()
        default: string(scalarsMax: .max)
        }
    }

    private func locationText() -> String? {
        guard let location = object() else { return nil }
        let numbers = ["latitude", "longitude"].compactMap { name -> String? in
            let number = location.value(named: Array(name.utf8))
            return number?.kind == .null ? nil : number?.text(of: .token)
        }
        return numbers.joined(separator: " ")
    }
}
