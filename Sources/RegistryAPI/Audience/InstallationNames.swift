import Crypto
import Foundation
import PushRegistry

/// What installations and places among them are called towards a caller: by their own ids for senders, by opaque ones
/// for marketing, who must not learn the former.
enum InstallationNames {
    case open(AppNumber)
    case opaque(OpaqueNames)

    /// The place behind an installation, to go on from.
    ///
    /// - Throws: `StoreError.failed`.
    func cursor(_ installID: some ContiguousBytes) throws -> [UInt8] {
        switch self {
        case .open: cursorStart + installID.withUnsafeBytes { Array($0) }
        case .opaque(let names): try names.cursor(installID)
        }
    }

    /// What stands before the installation's id in a cursor that shows it.
    var cursorStart: [UInt8] {
        if case .open(let app) = self { Array("\(app.rawValue).".utf8) } else { [] }
    }

    /// Nil for what is no cursor of this app and this kind of caller.
    func installID(at text: String) -> InstallID? {
        // In a CSV for spreadsheets it may have got an apostrophe.
        let cursor = text.hasPrefix("'") ? String(text.dropFirst()) : text
        switch self {
        case .open(let app):
            let prefix = "\(app.rawValue)."
            return cursor.hasPrefix(prefix) ? try? InstallID(String(cursor.dropFirst(prefix.count))) : nil
        case .opaque(let names): return names.installID(at: cursor)
        }
    }
}

/// Ids and cursors that tell nothing without the app's key.
struct OpaqueNames {
    /// 128 bits of the digest: no two installations of a fleet share them.
    private static let idBytes = 16
    /// What AES-GCM takes.
    private static let nonceBytes = 12

    private let idKey: SymmetricKey
    private let cursorKey: SymmetricKey
    private let nonceKey: SymmetricKey

    /// - Parameter key: the app's, known to the service and to nobody else.
    init(key: [UInt8]) {
        let key = SymmetricKey(data: key)
        idKey = Self.derived(key, for: "installation id")
        cursorKey = Self.derived(key, for: "cursor")
        nonceKey = Self.derived(key, for: "cursor nonce")
    }

    private static func derived(_ key: SymmetricKey, for use: String) -> SymmetricKey {
        SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(use.utf8), using: key))
    }

    /// The same for an installation at all times; 32 hexadecimal digits.
    func id(_ installID: some ContiguousBytes) -> [UInt8] {
        let digest = installID.withUnsafeBytes { HMAC<SHA256>.authenticationCode(for: $0, using: idKey) }
        let digits = Array("0123456789abcdef".utf8)
        return digest.prefix(Self.idBytes).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    /// The installation's id, sealed. The nonce is a digest of the id: random ones would begin to repeat under this one
    /// key after some 2^32 rows, a few years of exports.
    ///
    /// - Throws: `StoreError.failed`.
    func cursor(_ installID: some ContiguousBytes) throws -> [UInt8] {
        let sealed = try installID.withUnsafeBytes { bytes in
            let digest = HMAC<SHA256>.authenticationCode(for: bytes, using: nonceKey)
            let nonce = try AES.GCM.Nonce(data: Array(digest).prefix(Self.nonceBytes))
            return try AES.GCM.seal(bytes, using: cursorKey, nonce: nonce).combined
        }
        guard let sealed else { throw StoreError.failed("a cursor cannot be sealed") }
        return Base64URL.text(of: sealed)
    }

    func installID(at cursor: String) -> InstallID? {
        guard let bytes = Base64URL(cursor)?.bytes, let box = try? AES.GCM.SealedBox(combined: bytes),
            let opened = try? AES.GCM.open(box, using: cursorKey)
        else { return nil }
        return try? InstallID(String(decoding: opened, as: UTF8.self))
    }
}

extension Base64URL {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Without padding (RFC 4648, section 5).
    static func text(of bytes: some Collection<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 4 / 3 + 3)
        var (bits, bitCount) = (UInt32(0), 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(digits[Int(bits >> UInt32(bitCount) & 63)])
            }
            bits &= (1 << UInt32(bitCount)) - 1
        }
        if bitCount > 0 { text.append(digits[Int(bits << UInt32(6 - bitCount) & 63)]) }
        return text
    }
}

extension RegistryService {
    /// How the caller knows installations.
    func names(for call: AppCall) async throws -> InstallationNames {
        if call.caller.has(any: [.sender]) { return .open(call.app.number) }
        return .opaque(try await opaqueNames(in: call.app))
    }

    func opaqueNames(in app: App) async throws -> OpaqueNames {
        OpaqueNames(key: try await audiences.identityKey(of: app.number))
    }
}
