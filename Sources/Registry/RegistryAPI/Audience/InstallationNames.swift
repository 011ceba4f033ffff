import Basics
import Crypto
import PushRegistry
import Receipts

/// The ids and cursors that a caller sees: senders see the real installation ids, marketing opaque ones. Each sees its
/// rows in the order of these ids.
enum InstallationNames {
    case open(AppNumber)
    case opaque(OpaqueCursors)

    /// The position after the row of a cursor; without one, that of the first row.
    ///
    /// - Parameter text: nil: no cursor.
    /// - Returns: nil for a text that is not a cursor of this app and this kind of caller.
    func position(after text: String?) -> AudiencePosition? {
        switch (self, text) {
        case (.open, nil): return .start
        case (.opaque, nil): return .opaqueID(after: nil)
        case (.open(let app), let text?):
            let prefix = "\(app.rawValue)."
            guard text.hasPrefix(prefix), let last = try? InstallID(String(text.dropFirst(prefix.count))) else {
                return nil
            }
            return .installID(after: last)
        case (.opaque(let cursors), let text?): return cursors.id(at: text).map { .opaqueID(after: $0) }
        }
    }

    /// The cursor of a row; nil if the page is not in the order of the caller's ids.
    func cursor(of item: AudiencePage.Item) -> String? {
        switch self {
        case .open: String(decoding: cursorStart, as: UTF8.self) + item.installID.rawValue
        case .opaque(let cursors): item.opaqueID.map { String(decoding: cursors.cursor($0.bytes), as: UTF8.self) }
        }
    }

    /// The prefix of an open cursor; the installation id follows.
    var cursorStart: [UInt8] {
        if case .open(let app) = self { Array("\(app.rawValue).".utf8) } else { [] }
    }

    /// The column from which a cursor is made.
    var cursorColumn: ExportColumn {
        if case .open = self { .installID } else { .opaqueID }
    }
}

/// Cursors of opaque ids: the id, and a tag by which those of other apps and invented ones are refused.
struct OpaqueCursors {
    private static let tagBytes = 8

    private let tags: HMAC<SHA256>

    init(_ key: AppIdentityKey) {
        tags = HMAC(key: SymmetricKey(derivedFrom: key.bytes, for: "cursors of opaque ids"))
    }

    /// Hexadecimal digits: a spreadsheet does not take them for a formula.
    func cursor(_ id: some Sequence<UInt8>) -> [UInt8] {
        let id = Array(id)
        var tag = tags
        tag.update(data: id)
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * (id.count + Self.tagBytes))
        for byte in id { digits.appendHex(byte) }
        for byte in tag.finalize().prefix(Self.tagBytes) { digits.appendHex(byte) }
        return digits
    }

    /// Nil for a text that is not a cursor of this app.
    func id(at text: String) -> OpaqueID? {
        let digits = Array(text.utf8)
        guard digits.count == 2 * (OpaqueID.bytesCount + Self.tagBytes) else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: 2 * OpaqueID.bytesCount, by: 2) {
            guard let high = digits[start].hexDigitValue, let low = digits[start + 1].hexDigitValue else { return nil }
            bytes.append(high << 4 | low)
        }
        // A cursor reveals nothing and allows nothing, so the comparison need not take constant time.
        guard cursor(bytes) == digits else { return nil }
        return OpaqueID(bytes)
    }
}

extension RegistryService {
    /// The ids and cursors that the caller sees.
    func names(for call: AppCall) -> InstallationNames {
        if call.caller.has(any: [.sender]) { return .open(call.app.number) }
        return .opaque(OpaqueCursors(call.app.identityKey))
    }
}
