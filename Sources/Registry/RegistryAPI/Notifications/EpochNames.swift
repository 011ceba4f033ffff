import Basics
import Crypto
import Foundation
import PushRegistry
import Receipts

/// The public names of an epoch of an installation (fine print 61, 64, 107): its `epoch` in responses and pushes, and
/// the delivery key that fetches its notifications. Neither is stored, and neither reveals the generation.
///
/// Both are parts of one HMAC-SHA256 over the database's epoch, the installation and the generation at which the epoch
/// began. A restored dump has another database epoch, so it begins new epochs. Both contain the signing key's number.
struct EpochNames {
    let epoch: String
    let deliveryKey: DeliveryKey

    /// A new signing key names only epochs that begin at least this much later: by then every service has read the key,
    /// so an epoch keeps its names.
    private static let keyRipeningSeconds: Int64 = 3_600
    /// 160 bits for the secret, 80 for the name.
    private static let secretBytes = 20
    private static let nameBytes = 10

    /// The names of an epoch, by the signing key of its beginning.
    ///
    /// - Throws: `StoreError.failed` if the app has no signing key.
    init(of epoch: Int64, on installID: InstallID, in call: AppCall, _ keys: EpochKeys) throws(StoreError) {
        try self.init(of: epoch, on: installID, app: call.app, directory: call.directory, keys)
    }

    init(
        of epoch: Int64, on installID: InstallID, app: App, directory: DirectorySnapshot, _ keys: EpochKeys
    ) throws(StoreError) {
        // The first generation is the microsecond of the creation; each change adds one.
        let begun = Timestamp(microseconds: epoch - Self.keyRipeningSeconds * 1_000_000)
        guard let key = app.signingKeys.last(where: { $0.createdAt <= begun }) ?? app.signingKeys.first else {
            throw .failed("the app has no signing key")
        }
        self.init(of: epoch, on: installID, signedBy: key, database: directory.databaseEpoch, keys)
    }

    /// The names by the signing key whose number a client has sent.
    init(
        of epoch: Int64, on installID: InstallID, signedBy key: AppSigningKey, database: String, _ keys: EpochKeys
    ) {
        var message: [UInt8] = []
        message.reserveCapacity(database.utf8.count + installID.rawValue.utf8.count + 10)
        message += database.utf8
        message.append(0)
        message += installID.rawValue.utf8
        message.append(0)
        withUnsafeBytes(of: epoch.bigEndian) { message += $0 }
        var code = keys[key]
        code.update(data: message)
        let digest = code.finalize().withUnsafeBytes { Array($0) }
        self.epoch = String(base64URL: key.number.bytes + digest.suffix(Self.nameBytes))
        deliveryKey = DeliveryKey(number: key.number, secret: Array(digest.prefix(Self.secretBytes)))
    }
}

/// Message authentication codes (HMAC) that name epochs, one for each signing key of an app. They are initialised with
/// their key alone, and copied: every response to a registration names an epoch, and initialising a code costs more
/// than finishing it. Each event loop has one value.
struct EpochKeys: Sendable {
    private let codes = DerivedKeys {
        HMAC<SHA256>(key: SymmetricKey(derivedFrom: $0.key, for: "epoch and delivery key"))
    }

    subscript(signingKey: AppSigningKey) -> HMAC<SHA256> { codes[signingKey] }
}

/// The credential of an extension that runs without the user's JWT: `prd_<key number and secret>`. It has no printable
/// form; `text` is only for the response of a registration.
struct DeliveryKey {
    private static let prefix = "prd_"
    /// Longer texts are not parsed.
    private static let charactersMax = 64

    /// The number of the signing key.
    let number: Int16
    private let secret: [UInt8]

    init(number: Int16, secret: [UInt8]) {
        self.number = number
        self.secret = secret
    }

    /// Nil if the text does not have the form of a delivery key.
    init?(_ text: String) {
        guard text.utf8.count <= Self.charactersMax, text.hasPrefix(Self.prefix),
            let bytes = Base64URL(String(text.dropFirst(Self.prefix.count)))?.bytes, bytes.count > 2
        else { return nil }
        number = Int16(bytes[0]) << 8 | Int16(bytes[1])
        secret = Array(bytes.dropFirst(2))
    }

    var text: String { Self.prefix + String(base64URL: number.bytes + secret) }

    /// Compares digests in constant time, so the duration does not reveal even the length.
    func matches(_ other: DeliveryKey) -> Bool {
        SHA256.hash(data: secret) == SHA256.hash(data: other.secret)
    }
}

extension DeliveryKey: CustomStringConvertible, CustomReflectable {
    var description: String { "‹delivery key›" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension Int16 {
    /// Its two bytes, the higher one first.
    fileprivate var bytes: [UInt8] { [UInt8(truncatingIfNeeded: self >> 8), UInt8(truncatingIfNeeded: self)] }
}
