import Basics
import Crypto
import Foundation
import PushRegistry

/// The ids and cursors that a caller sees: senders see the real installation ids, marketing opaque ones.
enum InstallationNames {
    case open(AppNumber)
    case opaque(OpaqueNames)

    /// The cursor behind an installation.
    ///
    /// - Throws: `StoreError.failed`.
    func cursor(_ installID: some ContiguousBytes) throws -> [UInt8] {
        switch self {
        case .open: cursorStart + installID.withUnsafeBytes { Array($0) }
        case .opaque(let names): try names.cursor(installID)
        }
    }

    /// The prefix of an open cursor; the installation id follows.
    var cursorStart: [UInt8] {
        if case .open(let app) = self { Array("\(app.rawValue).".utf8) } else { [] }
    }

    /// Nil for a text that is not a cursor of this app and this kind of caller.
    func installID(at text: String) -> InstallID? {
        // A spreadsheet-safe CSV may have put an apostrophe before it.
        let cursor = text.hasPrefix("'") ? String(text.dropFirst()) : text
        switch self {
        case .open(let app):
            let prefix = "\(app.rawValue)."
            return cursor.hasPrefix(prefix) ? try? InstallID(String(cursor.dropFirst(prefix.count))) : nil
        case .opaque(let names): return names.installID(at: cursor)
        }
    }
}

/// Ids and cursors that reveal nothing without the app's secret key.
struct OpaqueNames {
    /// 128 bits of the digest: enough to avoid collisions in any fleet.
    private static let idBytes = 16
    /// The length of an AES-GCM nonce.
    private static let nonceBytes = 12

    private let idKey: SymmetricKey
    private let cursorKey: SymmetricKey
    private let nonceKey: SymmetricKey

    /// - Parameter key: the secret key of the app, known only to the service.
    init(key: [UInt8]) {
        let key = SymmetricKey(data: key)
        idKey = Self.derived(key, for: "installation id")
        cursorKey = Self.derived(key, for: "cursor")
        nonceKey = Self.derived(key, for: "cursor nonce")
    }

    private static func derived(_ key: SymmetricKey, for use: String) -> SymmetricKey {
        SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(use.utf8), using: key))
    }

    /// The opaque id, 32 hexadecimal digits. It never changes for an installation.
    func id(_ installID: some ContiguousBytes) -> [UInt8] {
        let digest = installID.withUnsafeBytes { HMAC<SHA256>.authenticationCode(for: $0, using: idKey) }
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * Self.idBytes)
        for byte in digest.prefix(Self.idBytes) { digits.appendHex(byte) }
        return digits
    }

    /// The encrypted installation id. The nonce is a digest of the id: random nonces would repeat under the same key
    /// after some 2^32 rows, a few years of exports.
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

extension RegistryService {
    /// The ids and cursors that the caller sees.
    func names(for call: AppCall) async throws -> InstallationNames {
        if call.caller.has(any: [.sender]) { return .open(call.app.number) }
        return .opaque(try await opaqueNames(in: call.app))
    }

    func opaqueNames(in app: App) async throws -> OpaqueNames {
        OpaqueNames(key: try await audiences.identityKey(of: app.number))
    }
}
