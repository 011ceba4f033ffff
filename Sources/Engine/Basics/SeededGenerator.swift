/// Reproducible random numbers from a seed, the same on every machine: SplitMix64 (Steele, Lea and Flood, Fast
/// splittable pseudorandom number generators, 2014). They are not unpredictable.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    /// The step of the state; odd, so that the state takes all 2^64 values.
    public static let increment: UInt64 = 0x9E37_79B9_7F4A_7C15

    @usableFromInline
    var state: UInt64

    @inlinable
    public init(seed: UInt64) { state = seed }

    @inlinable
    public mutating func next() -> UInt64 {
        state &+= Self.increment
        return Self.mixed(state)
    }

    /// A bijection: each bit of the number changes half of the result's bits on average.
    @inlinable
    public static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
