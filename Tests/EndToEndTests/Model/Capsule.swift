import Foundation

/// A violation as a file: the plan, which can be repeated, and what was observed.
struct Capsule: Codable {
    let seed: UInt64?
    let plan: ModelPlan
    /// The calls, responses and differences, a line each.
    let observed: [String]

    init(_ violation: Violation, seed: UInt64?) {
        (self.seed, plan) = (seed, violation.plan)
        observed = violation.description.split(separator: "\n").map { String($0) }
    }

    init(path: String) throws {
        self = try JSONDecoder().decode(Capsule.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// - Returns: the path.
    func write(as name: String) throws -> String {
        let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "capsules")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "\(name).json")
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(self).write(to: file)
        return file.path
    }

    static func command(_ variable: String) -> String { "\(variable) .ci/tests --filter EndToEndTests.ModelTests" }
}

extension ModelPlan {
    /// Looks for a part of the plan with the same effect, by leaving out rounds, then faults, pauses and calls.
    ///
    /// - Parameters:
    ///   - deadline: how long to try.
    ///   - attempt: runs a plan often enough to meet a race.
    /// - Returns: the violation of the smallest plan that was found.
    static func shrink(
        _ violation: Violation, within deadline: Duration, _ attempt: (ModelPlan) async throws -> Violation?
    ) async throws -> Violation {
        let end = ContinuousClock.now + deadline
        var (smallest, isSmaller) = (violation, true)
        while isSmaller {
            isSmaller = false
            for part in smallest.plan.parts {
                guard ContinuousClock.now < end else { return smallest }
                guard let found = try await attempt(part) else { continue }
                (smallest, isSmaller) = (found, true)
                break
            }
        }
        return smallest
    }

    /// Plans with a part of the rounds, faults, pauses or calls, the smallest first.
    private var parts: [ModelPlan] {
        var parts = cuts(of: rounds).map { ModelPlan(rounds: $0) }
        let faults = rounds.flatMap(\.faults)
        if faults.count > 1 { parts.append(keeping(faults: { _ in false })) }
        parts += faults.indices.map { index in keeping(faults: { $0 != index }) }
        if rounds.contains(where: { $0.pauseHours > 0 }) {
            var steady = self
            for index in rounds.indices { steady.rounds[index].pauseHours = 0 }
            parts.append(steady)
        }
        let calls = Array(0..<count)
        parts += cuts(of: calls).map { kept in
            let kept = Set(kept)
            return keeping(calls: kept.contains)
        }
        return parts
    }

    /// The array without its halves, quarters, and so on.
    private func cuts<Element>(of elements: [Element]) -> [[Element]] {
        var (cuts, size) = ([[Element]](), elements.count / 2)
        while size > 0 {
            for start in stride(from: 0, to: elements.count, by: size) {
                cuts.append(Array(elements[..<start] + elements[min(start + size, elements.count)...]))
            }
            size /= 2
        }
        return cuts
    }

    /// - Parameters: whether to keep the fault or call with this number.
    private func keeping(
        faults keepsFault: (Int) -> Bool = { _ in true }, calls keepsCall: (Int) -> Bool = { _ in true }
    ) -> ModelPlan {
        var (plan, fault, call) = (self, 0, 0)
        for index in rounds.indices {
            plan.rounds[index].faults = rounds[index].faults.filter { _ in
                defer { fault += 1 }
                return keepsFault(fault)
            }
            plan.rounds[index].clients = rounds[index].clients.map { calls in
                calls.filter { _ in
                    defer { call += 1 }
                    return keepsCall(call)
                }
            }
        }
        plan.rounds.removeAll { $0.count == 0 && $0.faults.isEmpty }
        return plan
    }
}
