import Basics
import PushRegistry

/// The API keys that one event loop has verified by a version of the directory: a key that is used often is hashed once
/// for each version, and its use is recorded once a minute.
final class VerifiedKeys: Sendable {
    private struct Entry {
        let credential: [UInt8]
        let key: APIKey
        let caller: Caller
        /// Since 1970.
        var minuteOfUse: Int64
    }

    private struct State {
        /// The version that all entries were verified by.
        var directory: DirectorySnapshot?
        var entries: [Entry?] = Array(repeating: nil, count: VerifiedKeys.entriesMax)
    }

    /// Keys of which the public ids share an entry replace each other.
    static let entriesMax = 64
    private static let microsecondsPerMinute: Int64 = 60_000_000

    private let uses: any KeyUseRecorder
    private let state = Locked(State())

    init(uses: any KeyUseRecorder) {
        self.uses = uses
    }

    /// The caller of a credential that was verified by the same version of the directory. Compares in constant time.
    func caller(
        of credential: ArraySlice<UInt8>, in directory: DirectorySnapshot, at now: Timestamp
    ) -> Caller? {
        guard let index = Self.index(of: credential) else { return nil }
        let minute = now.microseconds / Self.microsecondsPerMinute
        let found: (caller: Caller, isRecorded: Bool)? = state.withLock { state in
            guard state.directory === directory, let entry = state.entries[index],
                Self.areEqual(entry.credential, credential), entry.key.isValid(at: now)
            else { return nil }
            guard entry.minuteOfUse != minute else { return (entry.caller, true) }
            state.entries[index]?.minuteOfUse = minute
            return (entry.caller, false)
        }
        guard let found else { return nil }
        if !found.isRecorded, let id = found.caller.keyID { uses.record(id, at: now) }
        return found.caller
    }

    /// Keeps and records a key that was verified by a version of the directory.
    func insert(
        _ key: APIKey, _ credential: ArraySlice<UInt8>, in directory: DirectorySnapshot, at now: Timestamp
    ) -> Caller {
        uses.record(key.id, at: now)
        let caller = Caller(key)
        guard let index = Self.index(of: credential) else { return caller }
        state.withLock { state in
            if state.directory !== directory { state = State(directory: directory) }
            state.entries[index] = Entry(
                credential: Array(credential), key: key, caller: caller,
                minuteOfUse: now.microseconds / Self.microsecondsPerMinute)
        }
        return caller
    }

    /// By the key's public id; nil for another kind of credential.
    private static func index(of credential: ArraySlice<UInt8>) -> Int? {
        let prefix = PresentedKey.prefix.utf8
        let id = credential.dropFirst(prefix.count).prefix(PresentedKey.idCharacters)
        guard credential.count <= PresentedKey.charactersMax, id.count == PresentedKey.idCharacters,
            credential.starts(with: prefix)
        else { return nil }
        return id.reduce(0) { ($0 &* 31 &+ Int($1)) & (entriesMax - 1) }
    }

    private static func areEqual(_ one: [UInt8], _ other: ArraySlice<UInt8>) -> Bool {
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
