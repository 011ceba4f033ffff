import Basics

/// Random numbers that are the same on every machine and with every Swift release; the standard library does not
/// guarantee that for `random(in:using:)`.
struct FleetRandom {
    /// The purpose of a sequence. Different purposes get independent sequences.
    enum Stream: UInt64 {
        case person = 1
        case device, token, oddDevice
    }

    private var generator: SeededGenerator

    /// The sequence for one item: a pure function of the three arguments.
    init(seed: UInt64, _ stream: Stream, _ number: Int) {
        let mixedNumber = SeededGenerator.mixed(UInt64(bitPattern: Int64(number)))
        let sequence = SeededGenerator.mixed(stream.rawValue &* SeededGenerator.increment &+ mixedNumber)
        generator = SeededGenerator(seed: SeededGenerator.mixed(seed &+ sequence))
    }

    mutating func next() -> UInt64 { generator.next() }

    /// From 0 to `bound`, exclusive. Lemire's reduction; its bias of `bound` in 2^64 does not matter here.
    mutating func below(_ bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// From 0 to 1, exclusive.
    mutating func fraction() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    mutating func isTrue(_ probability: Double) -> Bool {
        fraction() < probability
    }

    mutating func element<Element>(of elements: [Element]) -> Element {
        elements[below(elements.count)]
    }
}

// MARK: - Texts

extension FleetRandom {
    private static let hexDigits = (0..<16).map { UInt8($0).hexDigit }

    /// Random digits of an alphabet whose size is a power of two, at most 256.
    mutating func digits(_ count: Int, of alphabet: [UInt8]) -> String {
        let bits = alphabet.count.trailingZeroBitCount
        return String(unsafeUninitializedCapacity: count) { buffer in
            var (pool, left) = (UInt64(0), 0)
            for index in 0..<count {
                if left < bits { (pool, left) = (next(), 64) }
                buffer[index] = alphabet[Int(truncatingIfNeeded: pool) & (alphabet.count - 1)]
                pool >>= UInt64(bits)
                left -= bits
            }
            return count
        }
    }

    mutating func hex(_ count: Int) -> String {
        digits(count, of: Self.hexDigits)
    }

    /// A random UUID (RFC 9562, section 5.4) as Apple's systems print it, in upper case.
    mutating func upperUUID() -> String {
        "\(hex(8))-\(hex(4))-4\(hex(3))-a\(hex(3))-\(hex(12))".uppercased()
    }
}

/// Several values, each of which is chosen with the probability of its weight.
struct WeightedChoice<Value: Sendable>: Sendable {
    let values: [Value]
    /// The sum of the weights of each value and all before it.
    private let sums: [Int]

    init(_ weighted: [(value: Value, weight: Int)]) {
        values = weighted.map(\.value)
        var sum = 0
        sums = weighted.map { item in
            sum += item.weight
            return sum
        }
    }

    var total: Int { sums.last ?? 0 }

    /// The share of the value at `index`, 0 to 1.
    func share(_ index: Int) -> Double {
        Double(sums[index] - (index == 0 ? 0 : sums[index - 1])) / Double(total)
    }

    func pick(_ random: inout FleetRandom) -> Value {
        let drawn = random.below(total)
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > drawn { high = middle } else { low = middle + 1 }
        }
        return values[low]
    }
}

extension WeightedChoice<String> {
    /// - Parameter table: items `value=weight` separated by white space; the weights are integers.
    init(_ table: String) {
        self.init(
            table.split(whereSeparator: \.isWhitespace).map { item in
                let parts = item.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let weight = Int(parts[1]) else { preconditionFailure("not a weight: \(item)") }
                return (String(parts[0]), weight)
            })
    }
}
