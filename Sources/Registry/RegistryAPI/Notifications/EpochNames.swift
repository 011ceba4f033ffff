import Basics
import Crypto
import Foundation
import HTTPApplication
import HTTPTypes
import HTTPWire
import PushRegistry
import Receipts

/// The public names of an epoch of an installation (fine print 61, 64, 107): its `epoch` in responses and pushes, and
/// the delivery key that fetches its notifications. Neither is stored, and neither reveals the generation.
///
/// Both are parts of one HMAC-SHA256 over the database's epoch, the installation and the generation at which the epoch
/// began, by a key that the app keeps for ever: the names last as long as the epoch. A restored dump has another
/// database epoch, so it begins new epochs.
struct EpochNames {
    let epoch: String
    let deliveryKey: DeliveryKey

    /// 160 bits for the secret, the other 96 for the name.
    private static let secretBytes = 20

    init(of epoch: Int64, on installID: InstallID, in call: AppCall, _ keys: EpochKeys) {
        self.init(of: epoch, on: installID, app: call.app, directory: call.directory, keys)
    }

    init(of epoch: Int64, on installID: InstallID, app: App, directory: DirectorySnapshot, _ keys: EpochKeys) {
        let database = directory.databaseEpoch
        var message: [UInt8] = []
        message.reserveCapacity(database.utf8.count + installID.rawValue.utf8.count + 10)
        message += database.utf8
        message.append(0)
        message += installID.rawValue.utf8
        message.append(0)
        withUnsafeBytes(of: epoch.bigEndian) { message += $0 }
        var code = keys[app.identityKey]
        code.update(data: message)
        let digest = code.finalize().withUnsafeBytes { Array($0) }
        self.epoch = String(base64URL: digest.dropFirst(Self.secretBytes))
        deliveryKey = DeliveryKey(secret: Array(digest.prefix(Self.secretBytes)))
    }
}

/// Message authentication codes (HMAC) that name epochs, one for each app. They are initialised with their key alone,
/// and copied: every response to a registration names an epoch, and initialising a code costs more than finishing it.
/// Each event loop has one value.
struct EpochKeys: Sendable {
    private let codes = DerivedKeys { (key: AppIdentityKey) in
        HMAC<SHA256>(key: SymmetricKey(derivedFrom: key.bytes, for: "epoch and delivery key"))
    }

    subscript(key: AppIdentityKey) -> HMAC<SHA256> { codes[key] }
}

/// The credential of an extension that runs without the user's JWT: `prd_<secret>`. It has no printable
/// form; `text` is only for the response of a registration.
struct DeliveryKey {
    private static let prefix = "prd_"
    /// Longer texts are not parsed.
    private static let charactersMax = 64

    private let secret: [UInt8]

    init(secret: [UInt8]) {
        self.secret = secret
    }

    /// Nil if the text does not have the form of a delivery key.
    init?(_ text: String) {
        guard text.utf8.count <= Self.charactersMax, text.hasPrefix(Self.prefix),
            let bytes = Base64URL(String(text.dropFirst(Self.prefix.count)))?.bytes, !bytes.isEmpty
        else { return nil }
        secret = bytes
    }

    var text: String { Self.prefix + String(base64URL: secret) }

    /// Compares digests in constant time, so the duration does not reveal even the length.
    func matches(_ other: DeliveryKey) -> Bool {
        SHA256.hash(data: secret) == SHA256.hash(data: other.secret)
    }
}

extension RegistryService {
    /// The delivery key beside a publishable key (fine print 10, 15); nil without one. A text that is no delivery key
    /// proves nothing.
    func deliveryProof(of request: ServerRequest, on installID: InstallID, in call: AppCall) -> DeliveryProof? {
        request.head[.deliveryKey].map { text in
            let presented = DeliveryKey(text)
            return DeliveryProof { [epochKeys] epoch in
                presented?.matches(EpochNames(of: epoch, on: installID, in: call, epochKeys).deliveryKey) ?? false
            }
        }
    }
}

extension DeliveryKey: CustomStringConvertible, CustomReflectable {
    var description: String { "‹delivery key›" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
