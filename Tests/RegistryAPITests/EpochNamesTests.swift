import Basics
import PushRegistry
import Testing

@testable import RegistryAPI

@Suite("An epoch has two names, which reveal nothing and last as long as it does (fine print 61, 70, 107)")
struct EpochNamesTests {
    private static let hour: Int64 = 3_600_000_000

    private func key(_ number: Int16, createdAt: Int64 = 0) -> AppSigningKey {
        AppSigningKey(
            number: number, key: Array(repeating: UInt8(truncatingIfNeeded: number), count: 32),
            createdAt: Timestamp(microseconds: createdAt))
    }

    private func names(
        of epoch: Int64, on installID: String = "phone", signedBy key: AppSigningKey? = nil, database: String = "db"
    ) throws -> EpochNames {
        EpochNames(
            of: epoch, on: try InstallID(installID), signedBy: key ?? self.key(1), database: database, EpochKeys())
    }

    @Test func names_areStable_andDifferForEverythingElse() throws {
        let first = try names(of: 7)
        let others = [
            try names(of: 8), try names(of: 7, on: "phone2"), try names(of: 7, signedBy: key(2)),
            try names(of: 7, database: "restored"),
        ]
        #expect(try names(of: 7).epoch == first.epoch && names(of: 7).deliveryKey.text == first.deliveryKey.text)
        #expect(Set(others.map(\.epoch) + [first.epoch]).count == 5)
        #expect(Set(others.map(\.deliveryKey.text) + [first.deliveryKey.text]).count == 5)
        #expect(others.allSatisfy { !$0.deliveryKey.matches(first.deliveryKey) })
    }

    @Test func deliveryKey_isReadBack_withItsKeyNumber() throws {
        let key = try names(of: 7, signedBy: key(300)).deliveryKey
        let read = try #require(DeliveryKey(key.text))
        #expect(read.number == 300 && read.matches(key))
        #expect("\(key)" == "‹delivery key›" && "\(String(reflecting: key))" == "‹delivery key›")
    }

    @Test(arguments: ["", "prd_", "prd_AA", "prk_AAEC", "prd_%%%%", "prd_" + String(repeating: "A", count: 64)])
    func otherText_isNoDeliveryKey(_ text: String) {
        #expect(DeliveryKey(text) == nil)
    }

    @Test func epoch_isShort_andFitsIntoAQuery() throws {
        let epoch = try names(of: .max).epoch
        #expect(epoch.utf8.count == 16 && Base64URL(epoch) != nil)
    }

    /// A key signs for epochs that begin an hour after it: one that began before keeps its names.
    @Test func newSigningKey_changesNoEpochThatLasts() throws {
        let (old, new) = (key(1), key(2, createdAt: 10 * Self.hour))
        func epoch(_ generation: Int64, _ keys: [AppSigningKey]) throws -> String {
            let app = App(number: AppNumber(1), id: try AppID("a"), policy: .standard, signingKeys: keys)
            let directory = DirectorySnapshot(version: 1, databaseEpoch: "db", apps: [app], keys: [])
            let codes = EpochKeys()
            return try EpochNames(of: generation, on: InstallID("phone"), app: app, directory: directory, codes).epoch
        }
        for generation in [1, 9 * Self.hour, 10 * Self.hour + 1] {
            #expect(try epoch(generation, [old]) == epoch(generation, [old, new]))
        }
        let late = 11 * Self.hour
        #expect(try epoch(late, [old, new]) == names(of: late, signedBy: new).epoch)
        #expect(throws: StoreError.self) { try epoch(1, []) }
    }
}
