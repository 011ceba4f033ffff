import Foundation

/// The seed of a test's random choices. By default it is always the same, so that a red test is a fault of the change
/// and not of the seed.
public enum TestSeed {
    /// `PUSH_REGISTRY_TEST_SEED` replaces it by a number or, with `random`, by another one at each run.
    ///
    /// - Parameter filter: finds the test. The command that repeats it is printed.
    public static func make(for filter: String) -> UInt64 {
        let wanted = ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_SEED"]
        let seed = wanted == "random" ? UInt64.random(in: 0...UInt64.max) : wanted.flatMap { UInt64($0) } ?? 1
        print("to repeat: PUSH_REGISTRY_TEST_SEED=\(seed) .ci/tests --filter \(filter)")
        return seed
    }
}
