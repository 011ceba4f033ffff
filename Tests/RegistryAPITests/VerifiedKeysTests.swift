import Basics
import Crypto
import PushRegistry
import Testing

@testable import RegistryAPI

@Suite("API keys that were verified before")
struct VerifiedKeysTests {
    private final class Uses: KeyUseRecorder {
        let recorded = Locked<[Int64]>([])

        func record(_ keyID: String, at time: Timestamp) { recorded.withLock { $0.append(time.microseconds) } }
    }

    private let uses = Uses()
    private let directory = DirectorySnapshot(version: 1, apps: [], keys: [])

    private func key(_ presented: PresentedKey, expiresAt: Timestamp? = nil) -> APIKey {
        APIKey(
            id: presented.id, app: AppNumber(1), name: "backend", roles: [.service], secretSHA256: presented.sha256,
            createdAt: Timestamp(microseconds: 0), expiresAt: expiresAt, revokedAt: nil)
    }

    @Test func key_isFound_withAllItsBytesOnly() throws {
        let (keys, presented, now) = (VerifiedKeys(uses: uses), PresentedKey(), Timestamp(microseconds: 0))
        let bytes = Array(presented.text.utf8)
        #expect(keys.caller(of: bytes[...], in: directory, at: now) == nil)
        let caller = keys.insert(key(presented), bytes[...], in: directory, at: now)
        #expect(keys.caller(of: bytes[...], in: directory, at: now) === caller)
        for position in bytes.indices {
            var other = bytes
            other[position] ^= 1
            #expect(keys.caller(of: other[...], in: directory, at: now) == nil)
        }
        for other in [bytes.dropLast(), bytes + [0], bytes.prefix(20), []] as [ArraySlice<UInt8>] {
            #expect(keys.caller(of: other, in: directory, at: now) == nil)
        }
    }

    @Test func newVersionOfTheDirectory_forgetsAllKeys() throws {
        let (keys, now) = (VerifiedKeys(uses: uses), Timestamp(microseconds: 0))
        let presented = (0..<2).map { _ in PresentedKey() }
        let bytes = presented.map { Array($0.text.utf8)[...] }
        _ = keys.insert(key(presented[0]), bytes[0], in: directory, at: now)
        let next = DirectorySnapshot(version: 1, apps: [], keys: [])
        #expect(keys.caller(of: bytes[0], in: next, at: now) == nil)
        _ = keys.insert(key(presented[1]), bytes[1], in: next, at: now)
        #expect(keys.caller(of: bytes[0], in: next, at: now) == nil)
        #expect(keys.caller(of: bytes[0], in: directory, at: now) == nil)
    }

    @Test func key_isNotFound_fromItsExpiryOn() throws {
        let (keys, presented, expiry) = (VerifiedKeys(uses: uses), PresentedKey(), Timestamp(microseconds: 5))
        let bytes = Array(presented.text.utf8)[...]
        _ = keys.insert(key(presented, expiresAt: expiry), bytes, in: directory, at: Timestamp(microseconds: 0))
        #expect(keys.caller(of: bytes, in: directory, at: Timestamp(microseconds: 4)) != nil)
        #expect(keys.caller(of: bytes, in: directory, at: expiry) == nil)
    }

    @Test func use_isRecorded_onceAMinute() throws {
        let (keys, presented) = (VerifiedKeys(uses: uses), PresentedKey())
        let bytes = Array(presented.text.utf8)[...]
        _ = keys.insert(key(presented), bytes, in: directory, at: Timestamp(microseconds: 0))
        for second: Int64 in 1...150 {
            _ = keys.caller(of: bytes, in: directory, at: Timestamp(microseconds: second * 1_000_000))
        }
        #expect(uses.recorded.withLock { $0 } == [0, 60_000_000, 120_000_000])
    }

    @Test func moreKeysThanEntries_areAllVerified() throws {
        let (keys, now) = (VerifiedKeys(uses: uses), Timestamp(microseconds: 0))
        let presented = (0..<4 * VerifiedKeys.entriesMax).map { _ in PresentedKey() }
        for one in presented { _ = keys.insert(key(one), Array(one.text.utf8)[...], in: directory, at: now) }
        let callers = presented.map { (keys.caller(of: Array($0.text.utf8)[...], in: directory, at: now), $0.id) }
        #expect(callers.allSatisfy { caller, id in caller.map { $0.keyID == id } ?? true })
        #expect((1...VerifiedKeys.entriesMax).contains(callers.count { $0.0 != nil }))
    }
}
