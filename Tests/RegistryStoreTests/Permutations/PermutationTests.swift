import Basics
import Foundation
import PostgresClient
import Testing

@testable import RegistryStore

/// Two calls about one phone, stopped before each statement and let go in every order that can make a difference.
/// By default each pair has a sample, the same each time, and so have few triples.
/// `PUSH_REGISTRY_TEST_PERMUTATIONS=all` tries all orders of all pairs from all states, and more triples;
/// `=logOut,register`, those of the pairs with these calls.
@Suite("Calls about one phone end as if one came after the other, in whatever order their statements are executed")
struct PermutationTests {
    private static let wanted = ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_PERMUTATIONS"]
    private static let isAll = wanted != nil
    /// Two calls alone are in many triples: then none is tried.
    private static let triples =
        switch (wanted, wanted?.split(separator: ",").count) {
        case (nil, _): Permuted.triples(everyNth: 100)
        case ("all", _): Permuted.triples(everyNth: 7)
        case (_, 3): Permuted.triples(everyNth: 1).filter { $0.isWanted(wanted) }
        default: [Permuted]()
        }
    private static let triplesOrdersMax = wanted == nil ? 4 : wanted == "all" ? 20 : 60
    private static let shards = 3

    /// A change, a logout or a deletion within another call, which a third one has overtaken.
    @Test(arguments: 0..<shards)
    func triple_endsAsInSomeSerialOrder_inASampleOfTheOrdersOfItsStatements(shard: Int) async throws {
        let cases = Self.triples.enumerated().filter { $0.offset % Self.shards == shard }
        try await check(cases.map(\.element), callers: 3, ordersMax: Self.triplesOrdersMax)
    }

    @Test(arguments: 0..<shards) func pair_endsAsInSomeSerialOrder_inEachOrderOfItsStatements(shard: Int) async throws {
        let cases = Permuted.pairs(isAll: Self.isAll).filter { $0.isWanted(Self.wanted) }.enumerated().filter {
            $0.offset % Self.shards == shard
        }
        try await check(cases.map(\.element), callers: 2, ordersMax: Self.isAll ? 40 : 4)
    }

    private func check(_ cases: [Permuted], callers: Int, ordersMax: Int) async throws {
        guard !cases.isEmpty else { return }
        try await PermutedRegistry.with(callers: callers) { try $0.check(cases, ordersMax: ordersMax) }.expectNone()
    }
}

/// Calls that are made at the same time.
struct Permuted: CustomStringConvertible, Sendable {
    let calls: [PermutedCall]
    let start: PermutedStart

    var description: String { "\(calls.map(\.rawValue).joined(separator: ", ")) from \(start)" }

    func isWanted(_ words: String?) -> Bool {
        guard let words, words != "all" else { return true }
        return words.split(separator: ",").allSatisfy { word in calls.contains { $0.rawValue == word } }
    }

    static func pairs(isAll: Bool) -> [Permuted] {
        let calls = PermutedCall.allCases
        var pairs: [Permuted] = []
        for (index, first) in calls.enumerated() {
            for second in calls[index...] {
                let starts = PermutedStart.allCases.filter { isUseful([first, second], $0) }
                let chosen = isAll ? starts : [starts[pairs.count % starts.count]]
                pairs += chosen.map { Permuted(calls: [first, second], start: $0) }
            }
        }
        return pairs
    }

    /// - Parameter everyNth: how many there are for one that is taken. All have all states; others have one each.
    static func triples(everyNth: Int) -> [Permuted] {
        let calls = PermutedCall.allCases
        var triples: [Permuted] = []
        var count = 0
        for first in calls.indices {
            for second in calls.indices[first...] {
                for third in calls.indices[second...] {
                    let chosen = [calls[first], calls[second], calls[third]]
                    let starts = PermutedStart.allCases.filter { isUseful(chosen, $0) }
                    count += 1
                    guard count.isMultiple(of: everyNth) else { continue }
                    let some = everyNth > 1 ? [starts[triples.count % starts.count]] : starts
                    triples += some.map { Permuted(calls: chosen, start: $0) }
                }
            }
        }
        return triples
    }

    /// The night job has work for phones of two states, and all other calls for all but these.
    private static func isUseful(_ calls: [PermutedCall], _ start: PermutedStart) -> Bool {
        calls.contains(.cleanUp) == [.expired, .silent].contains(start)
    }
}

/// What went wrong, each with the order of its statements.
struct PermutedFaults: Sendable {
    var texts: [String] = []
    var executions = 0
    var unfinished = 0

    /// Prints it at once: a run may take an hour.
    mutating func add(_ text: String) {
        print(text)
        texts.append(text)
    }

    func expectNone() {
        print("\(executions) orders, \(unfinished) searches were cut short")
        for text in texts { Issue.record("\(text)") }
    }
}

extension PermutedRegistry {
    /// Enough to see what they have in common.
    private static let faultsMax = 5

    func check(_ cases: [Permuted], ordersMax: Int) throws -> PermutedFaults {
        var faults = PermutedFaults()
        for permuted in cases where faults.texts.count < Self.faultsMax { try check(permuted, ordersMax, &faults) }
        faults.texts += try violations()
        return faults
    }

    private func check(_ permuted: Permuted, _ ordersMax: Int, _ faults: inout PermutedFaults) throws {
        var references = try SerialResults(of: permuted, self)
        let search = OrderSearch()
        var dice = SeededGenerator(seed: 1)
        while search.count < ordersMax, search.begin(&dice) {
            let (result, steps) = try execute(permuted.calls, from: permuted.start, search)
            faults.executions += 1
            if try !references.contains(result, self) || steps.contains("deadlock") {
                faults.add(
                    (["\(permuted), order \(search.order):"] + steps + references.differences(from: result))
                        .joined(separator: "\n"))
                return
            }
        }
        if search.count == ordersMax, search.begin(&dice) { faults.unfinished += 1 }
    }
}

/// What calls may end as: the results of the serial orders, and those that the rules allow besides.
private struct SerialResults {
    private let permuted: Permuted
    private let orders: [[Int]]
    private let strict: [PermutedResult]
    private var relaxed: Set<PermutedResult>?

    init(of permuted: Permuted, _ registry: PermutedRegistry) throws {
        self.permuted = permuted
        let orders = Self.orders(of: Array(permuted.calls.indices))
        self.orders = orders
        strict = try orders.map { try registry.serial(permuted.calls, from: permuted.start, order: $0, []) }
    }

    mutating func contains(_ result: PermutedResult, _ registry: PermutedRegistry) throws -> Bool {
        if strict.contains(result) { return true }
        let known = try relaxed ?? makeRelaxed(registry)
        relaxed = known
        return known.contains(result)
    }

    private func makeRelaxed(_ registry: PermutedRegistry) throws -> Set<PermutedResult> {
        var results: Set<PermutedResult> = []
        for rawValue in 1..<8 {
            let relaxation = PermutedRelaxation(rawValue: rawValue)
            guard relaxation.isSubset(of: permuted.relaxations) else { continue }
            for order in orders {
                results.insert(try registry.serial(permuted.calls, from: permuted.start, order: order, relaxation))
            }
        }
        return results
    }

    func differences(from result: PermutedResult) -> [String] {
        zip(orders, strict).prefix(2).flatMap { ["Unlike \($0):"] + result.differences(from: $1) }
    }

    private static func orders(of callers: [Int]) -> [[Int]] {
        guard callers.count > 1 else { return [callers] }
        return callers.flatMap { first in orders(of: callers.filter { $0 != first }).map { [first] + $0 } }
    }
}

extension Permuted {
    fileprivate var relaxations: PermutedRelaxation {
        var relaxations: PermutedRelaxation = []
        if calls.contains(.judge) || calls.contains(.judgeToken) { relaxations.insert(.judgesEarlier) }
        if calls.contains(.cleanUp) { relaxations.insert(.skipsCleanUp) }
        if calls.contains(.reinstall), [.nothing, .deleted].contains(start) || calls.contains(.delete) {
            relaxations.insert(.marksNothing)
        }
        return relaxations
    }
}
