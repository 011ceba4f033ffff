import Basics
import Crypto
import PushRegistry
import Receipts

/// The ids and cursors that a caller sees: senders see the real installation ids, marketing opaque ones. Each sees its
/// rows in the order of these ids.
enum InstallationNames {
    case open(AppNumber, isTyped: Bool = false)
    case opaque(OpaqueCursors, isTyped: Bool = false)

    /// The same for rows of typed tokens, whose cursors tell those of one installation apart.
    func typed(_ isTyped: Bool) -> InstallationNames {
        switch self {
        case .open(let app, _): .open(app, isTyped: isTyped)
        case .opaque(let cursors, _): .opaque(cursors, isTyped: isTyped)
        }
    }

    /// The position after the row of a cursor; without one, that of the first row.
    ///
    /// - Parameter text: nil: no cursor.
    /// - Returns: nil for a text that is not a cursor of this app and this kind of caller.
    func position(after text: String?) -> AudiencePosition? {
        switch (self, text) {
        case (.open, nil): return .start
        case (.opaque, nil): return .opaqueID(after: nil)
        case (.open(let app, let isTyped), let text?):
            let prefix = "\(app.rawValue)."
            guard text.hasPrefix(prefix) else { return nil }
            let parts = text.dropFirst(prefix.count).split(
                separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == (isTyped ? 2 : 1), let last = try? InstallID(String(parts[0])) else { return nil }
            return .installID(after: last, name: isTyped ? parts[1] == "-" ? "" : String(parts[1]) : nil)
        case (.opaque(let cursors, let isTyped), let text?):
            let count = OpaqueID.bytesCount
            guard let place = cursors.place(at: text, bytesCount: count + (isTyped ? OpaqueID.nameBytesCount : 0))
            else { return nil }
            return .opaqueID(after: OpaqueID(Array(place.prefix(count))), name: Array(place.dropFirst(count)))
        }
    }

    /// The cursor of a row; nil if the page is not in the order of the caller's ids.
    func cursor(of item: AudiencePage.Item) -> String? {
        switch self {
        case .open:
            String(decoding: cursorStart, as: UTF8.self) + item.installID.rawValue
                + (item.typed.map { " " + ($0.name.isEmpty ? "-" : $0.name) } ?? "")
        case .opaque(let cursors, _):
            item.opaqueID.map { String(decoding: cursors.cursor($0.bytes + item.nameDigest), as: UTF8.self) }
        }
    }

    /// The prefix of an open cursor; the installation id follows, and a space and the name of a typed token, `-` for
    /// none: no name is `-`, and a reader of CSV may strip a space at the end.
    var cursorStart: [UInt8] {
        if case .open(let app, _) = self { Array("\(app.rawValue).".utf8) } else { [] }
    }

    /// The column from which a cursor is made.
    var cursorColumn: ExportColumn {
        switch self {
        case .open(_, isTyped: true), .opaque(_, isTyped: true): .place
        case .open: .installID
        case .opaque: .opaqueID
        }
    }
}

/// Cursors of opaque ids: the id, the digest of a typed token's name, and a tag by which those of other apps and
/// invented ones are refused.
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
    ///
    /// - Parameter bytesCount: of a row's place.
    func place(at text: String, bytesCount: Int) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count == 2 * (bytesCount + Self.tagBytes) else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: 2 * bytesCount, by: 2) {
            guard let high = digits[start].hexDigitValue, let low = digits[start + 1].hexDigitValue else { return nil }
            bytes.append(high << 4 | low)
        }
        // A cursor reveals nothing and allows nothing, so the comparison need not take constant time.
        guard cursor(bytes) == digits else { return nil }
        return bytes
    }
}

extension RegistryService {
    /// The ids and cursors that the caller sees.
    func names(for call: AppCall) -> InstallationNames {
        if call.caller.has(any: [.sender]) { return .open(call.app.number) }
        return .opaque(OpaqueCursors(call.app.identityKey))
    }
}
