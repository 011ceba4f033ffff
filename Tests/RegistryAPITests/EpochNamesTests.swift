import Basics
import PushRegistry
import Testing

@testable import RegistryAPI

@Suite("An epoch has two names, which reveal nothing and last as long as it does (fine print 61, 70, 107)")
struct EpochNamesTests {
    private func names(
        of epoch: Int64, on installID: String = "phone", identity: UInt8 = 1, database: String = "db",
        signedBy signingKeys: [AppSigningKey] = []
    ) throws -> EpochNames {
        let app = App(
            number: AppNumber(1), id: try AppID("a"), policy: .standard, signingKeys: signingKeys,
            identityKey: AppIdentityKey(bytes: Array(repeating: identity, count: 32)))
        let directory = DirectorySnapshot(version: 1, databaseEpoch: database, apps: [app], keys: [])
        return EpochNames(of: epoch, on: try InstallID(installID), app: app, directory: directory, EpochKeys())
    }

    @Test func names_areStable_andDifferForEverythingElse() throws {
        let first = try names(of: 7)
        let others = [
            try names(of: 8), try names(of: 7, on: "phone2"), try names(of: 7, identity: 2),
            try names(of: 7, database: "restored"),
        ]
        #expect(try names(of: 7).epoch == first.epoch && names(of: 7).deliveryKey.text == first.deliveryKey.text)
        #expect(Set(others.map(\.epoch) + [first.epoch]).count == 5)
        #expect(Set(others.map(\.deliveryKey.text) + [first.deliveryKey.text]).count == 5)
        #expect(others.allSatisfy { !$0.deliveryKey.matches(first.deliveryKey) })
    }

    @Test func deliveryKey_isReadBack() throws {
        let key = try names(of: 7).deliveryKey
        let read = try #require(DeliveryKey(key.text))
        #expect(read.matches(key) && read.text == key.text)
        #expect("\(key)" == "‹delivery key›" && "\(String(reflecting: key))" == "‹delivery key›")
    }

    @Test(arguments: ["", "prd_", "prk_AAEC", "prd_%%%%", "prd_" + String(repeating: "A", count: 64)])
    func otherText_isNoDeliveryKey(_ text: String) {
        #expect(DeliveryKey(text) == nil)
    }

    @Test func epoch_isShort_andFitsIntoAQuery() throws {
        let epoch = try names(of: .max).epoch
        #expect(epoch.utf8.count == 16 && Base64URL(epoch) != nil)
    }

    /// Signing keys come every month and are deleted after a year. A binding may last longer.
    @Test func names_lastLongerThanSigningKeys() throws {
        let month: Int64 = 30 * 24 * 3_600_000_000
        let keys = (0..<20).map { number in
            AppSigningKey(
                number: Int16(number), key: Array(repeating: UInt8(number), count: 32),
                createdAt: Timestamp(microseconds: Int64(number) * month))
        }
        let first = try names(of: 7, signedBy: [keys[0]])
        for number in 1..<20 {
            let later = try names(of: 7, signedBy: Array(keys[max(0, number - 14)...number]))
            #expect(later.epoch == first.epoch && later.deliveryKey.matches(first.deliveryKey))
        }
    }
}
