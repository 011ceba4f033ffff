import Basics
import PushRegistry
import Testing

@testable import Receipts

@Suite("A receipt is sealed by a key of its app, and reveals nothing without it")
struct SealedReceiptTests {
    private static let keys = ReceiptKeys()

    private static func app(_ number: Int32 = 7, keys: [Int16] = [1]) throws -> App {
        App(
            number: AppNumber(number), id: try AppID("com.example.app\(number)"), policy: .standard,
            signingKeys: keys.map { key in
                AppSigningKey(
                    number: key,
                    key: Array(repeating: UInt8(truncatingIfNeeded: Int32(key) &* 31 &+ number), count: 32),
                    createdAt: Timestamp(microseconds: 0))
            },
            identityKey: AppIdentityKey(bytes: Array(repeating: UInt8(truncatingIfNeeded: number), count: 32)))
    }

    private static func message(_ number: Int64 = 179_534_000_000) throws -> Message {
        let number = MessageNumber(number)
        return Message(
            number: number, name: try MessageName("spring-sale"), content: MessageContent(), createdAt: number.time)
    }

    private static func sealed(_ app: App, _ installID: String = "phone", cell: Int64 = 1 << 48 + 5) throws -> String {
        let sealer = try #require(ReceiptSealer(try message(), of: app, keys))
        return try sealer.seal(try InstallID(installID), in: cell)
    }

    @Test func receipt_has80Characters_andOpensToItsContent() throws {
        let app = try Self.app()
        let text = try Self.sealed(app)
        #expect(text.utf8.count == 80 && text.utf8.allSatisfy { $0 != 0x2B && $0 != 0x2F && $0 != 0x3D })
        let content = try #require(Receipt(text)?.open(app, Self.keys))
        #expect(content.message == (try Self.message()).number)
        #expect(content.cell == 1 << 48 + 5)
        #expect(content.installation == InstallationHasher(app.identityKey).hash(try InstallID("phone")))
        #expect(content.expiresAt == (try Self.message()).expiresAt)
    }

    /// The encoder's hash and cipher are libcrypto's; those that open receipts are another library's.
    @Test func encoder_writesWhatOthersOpen_manyTimes() throws {
        let app = try Self.app()
        let encoder = try ReceiptEncoder(try #require(ReceiptSealer(try Self.message(), of: app, Self.keys)))
        let hasher = InstallationHasher(app.identityKey)
        var text: [UInt8] = []
        for number in 0..<1_000 {
            let installID = try InstallID(String(repeating: "i", count: 1 + number % 128))
            let hash = try Array(installID.rawValue.utf8).withUnsafeBytes { try encoder.hash($0) }
            #expect(hash == hasher.hash(installID))
            text.removeAll()
            try encoder.append(hash, in: Int64(number), to: &text)
            let content = try #require(Receipt(String(decoding: text, as: UTF8.self))?.open(app, Self.keys))
            #expect(content.installation == hash && content.cell == Int64(number))
        }
    }

    @Test func receipts_ofOneInstallation_haveNothingInCommon() throws {
        let app = try Self.app()
        let texts = try (0..<1_000).map { _ in try Self.sealed(app) }
        #expect(Set(texts).count == 1_000)
        // The first 8 characters are the version, the key and half of the app; the rest looks random.
        let tails = texts.map { $0.dropFirst(10) }
        #expect(Set(tails.map { $0.prefix(8) }).count == 1_000)
        #expect(!texts.contains { $0.contains(String(base64URL: Array("phone".utf8))) })
    }

    @Test func receipt_isInvalid_whenAnyBitIsChanged() throws {
        let app = try Self.app()
        let bytes = try #require(Base64URL(try Self.sealed(app))).bytes
        for bit in 0..<bytes.count * 8 {
            var forged = bytes
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(Receipt(String(base64URL: forged))?.open(app, Self.keys) == nil, "bit \(bit)")
        }
    }

    @Test func receipt_isInvalid_whenItIsCutOrPadded() throws {
        let app = try Self.app()
        let text = try Self.sealed(app)
        for count in 0..<text.count { #expect(Receipt(String(text.prefix(count))) == nil) }
        for more in ["=", "A", "==", " "] { #expect(Receipt(text + more) == nil) }
        #expect(Receipt(String(repeating: "é", count: 40)) == nil)
        #expect(Receipt(String(text.dropLast()) + "+") == nil)
    }

    @Test func receipt_isInvalid_atAnotherApp() throws {
        let (mine, other) = (try Self.app(7), try Self.app(8))
        let text = try Self.sealed(mine)
        #expect(Receipt(text)?.open(other, Self.keys) == nil)
        // The number of the other app in the header does not help.
        var bytes = try #require(Base64URL(text)).bytes
        bytes[6] = 8
        #expect(Receipt(String(base64URL: bytes))?.open(other, Self.keys) == nil)
    }

    @Test func olderKey_opensReceipts_untilItIsDeleted() throws {
        let text = try Self.sealed(try Self.app(keys: [1]))
        #expect(Receipt(text)?.open(try Self.app(keys: [1, 2, 3]), Self.keys) != nil)
        #expect(Receipt(text)?.open(try Self.app(keys: [2, 3]), Self.keys) == nil)
        #expect(Receipt(try Self.sealed(try Self.app(keys: [1, 2])))?.keyNumber == 2)
    }

    @Test func key_isNotReusedFromTheCache_whenTheAppHasAnother() throws {
        let app = try Self.app()
        let text = try Self.sealed(app)
        let changed = App(
            number: app.number, id: app.id, policy: .standard,
            signingKeys: [
                AppSigningKey(number: 1, key: Array(repeating: 1, count: 32), createdAt: Timestamp(microseconds: 0))
            ], identityKey: app.identityKey)
        #expect(Receipt(text)?.open(changed, Self.keys) == nil)
        #expect(Receipt(text)?.open(app, Self.keys) != nil)
    }

    @Test func hash_dependsOnTheApp_andOnNothingElse() throws {
        let id = try InstallID("phone")
        let mine = InstallationHasher(try Self.app(7).identityKey)
        #expect(mine.hash(id) == InstallationHasher(try Self.app(7, keys: [4]).identityKey).hash(id))
        #expect(mine.hash(id) != InstallationHasher(try Self.app(8).identityKey).hash(id))
        #expect(mine.hash(id) != mine.hash(try InstallID("Phone")))
    }

    @Test func appWithoutAKey_sealsNothing() throws {
        #expect(ReceiptSealer(try Self.message(), of: try Self.app(keys: []), Self.keys) == nil)
    }
}
