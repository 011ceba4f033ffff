import Crypto
import PushRegistry

/// The few bytes of a row that the choice of the newest row of a token needs.
struct ScannedRow: Hashable, SpilledRow {
    /// 128 bits of the SHA-256 of provider and the token's address, or of the `installId`.
    struct Key: Hashable, Comparable {
        let high: UInt64
        let low: UInt64

        init(_ text: Substring, of provider: Provider? = nil) {
            var hash = SHA256()
            if let provider { hash.update(data: Array(provider.rawValue.utf8)) }
            hash.update(data: Array(text.utf8))
            let digest = Array(hash.finalize())
            (high, low) = (UInt64(digest[0..<8]), UInt64(digest[8..<16]))
        }

        fileprivate init(_ bytes: ArraySlice<UInt8>) {
            (high, low) = (UInt64(bytes.prefix(8)), UInt64(bytes.dropFirst(8)))
        }

        static func < (left: Key, right: Key) -> Bool { (left.high, left.low) < (right.high, right.low) }
    }

    static let byteCount = 64

    let token: Key
    /// 64 bits of the SHA-256 of the token's text.
    let spelling: UInt64
    let installation: Key
    /// Microseconds; nil if the row has no date.
    let seenAt: Int64?
    /// The row's number in the run.
    let number: Int64
    /// Where its supplement stands in the file of supplements; nil without one.
    let supplement: Int64?

    init(_ identity: ForeignIdentity, number: Int64, supplement: Int64?, now: Timestamp) {
        token = Key(identity.token.address, of: identity.token.provider)
        spelling = Key(identity.token.text[...]).high
        installation = Key(identity.installID.rawValue[...])
        // A time in the future counts as now.
        seenAt = identity.seenAt.map { min($0, now).microseconds }
        self.number = number
        self.supplement = supplement
    }

    init(_ bytes: ArraySlice<UInt8>) {
        token = Key(bytes.prefix(16))
        installation = Key(bytes.dropFirst(16).prefix(16))
        spelling = UInt64(bytes.dropFirst(32).prefix(8))
        seenAt = Int64(spilled: bytes.dropFirst(40).prefix(8))
        number = Int64(spilled: bytes.dropFirst(48).prefix(8)) ?? 0
        supplement = Int64(spilled: bytes.dropFirst(56).prefix(8))
    }

    func write(to bytes: inout [UInt8]) {
        for part in [token.high, token.low, installation.high, installation.low, spelling] { part.write(to: &bytes) }
        for part in [seenAt, number, supplement] { Int64.spill(part, to: &bytes) }
    }

    /// Whether this row is newer than another one of the same token or installation. A row without a date counts as of
    /// the time `undated`. Of two rows with the same date the digests decide, so that the order of the files does not
    /// matter. Without a date, or with equal digests, the later row wins.
    func isNewer(than other: ScannedRow, undated: Int64) -> Bool {
        let (left, right) = (seenAt ?? undated, other.seenAt ?? undated)
        if left != right { return left > right }
        guard seenAt != nil, other.seenAt != nil else { return number > other.number }
        if installation != other.installation { return installation > other.installation }
        if token != other.token { return token > other.token }
        if spelling != other.spelling { return spelling > other.spelling }
        return number > other.number
    }
}

extension Int64 {
    /// Nil is written as the least number.
    init?(spilled bytes: ArraySlice<UInt8>) {
        let number = Int64(bitPattern: UInt64(bytes))
        guard number != .min else { return nil }
        self = number
    }

    static func spill(_ number: Int64?, to bytes: inout [UInt8]) {
        UInt64(bitPattern: number ?? .min).write(to: &bytes)
    }
}

extension UInt64 {
    init(_ bytes: ArraySlice<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    func write(to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: self >> shift)) }
    }
}
