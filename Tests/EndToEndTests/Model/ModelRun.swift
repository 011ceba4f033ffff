import Basics
import RegistryTestSupport

/// A plan of which the service broke a promise.
struct Violation: Error {
    /// Up to the round of the violation.
    var plan: ModelPlan
    let description: String
}

/// Runs plans and checks what they lead to.
struct ModelRun: Sendable {
    /// What was done in all runs of a test.
    final class Tally: Sendable {
        struct Counts {
            var seeds = 0
            var calls = 0
            var faults = 0
            /// Calls without a response, or refused because of a failure.
            var unanswered = 0
            var violations = 0
            var statuses: [Int: Int] = [:]
        }

        private let state = Locked(Counts())

        var counts: Counts { state.withLock { $0 } }

        func count(_ steps: [ModelStep], _ faults: [TimedFault]) {
            state.withLock { counts in
                counts.calls += steps.count
                counts.unanswered += steps.count { !$0.isAnswered }
                counts.faults += faults.count
                for case let response? in steps.map(\.response) { counts.statuses[response.status, default: 0] += 1 }
            }
        }

        func countSeed(_ violation: Violation? = nil) {
            state.withLock { counts in
                counts.seeds += 1
                if violation != nil { counts.violations += 1 }
            }
        }
    }

    /// What a call may be answered with. `503` is for failures.
    private static let statuses: Set<Int> = [200, 201, 204, 401, 403, 404, 409, 412, 503]

    let registry: FaultyRegistry
    let tally: Tally

    /// Runs plans with the same faults at the same time, each in an app of its own, and checks every round: the
    /// responses and tables of every app have a serial order. At the end, or after each round if there are jobs,
    /// `verify` finds nothing.
    func violation(of plans: [ModelPlan]) async throws -> Violation? {
        try await registry.resetClock()
        var apps = try await race(plans.count) { [self] _ in try await ModelApp(in: registry.registry) }
        for number in plans[0].rounds.indices {
            let faults = plans[0].rounds[number].faults
            func violation(_ plan: ModelPlan, _ description: String) -> Violation {
                Violation(plan: ModelPlan(rounds: Array(plan.rounds[...number])), description: description)
            }
            registry.forgetClock()
            for index in apps.indices { try await apps[index].wait(hours: plans[index].rounds[number].pauseHours) }
            let first = apps[0].app
            async let inflicted = registry.inflict(faults, on: first)
            let called = try await race(apps.count) { [apps] index in
                var app = apps[index]
                let steps = try await app.call(plans[index].rounds[number])
                return (index: index, app: app, steps: steps)
            }
            let jobs = try await inflicted
            let calls = called.flatMap(\.steps).map { $0.by(registry.clock) }
            tally.count(calls, faults)
            try await registry.settle(isUncertain: !calls.allSatisfy(\.isAnswered))
            if faults.allSatisfy(\.fault.isJob), let complaint = jobs.compactMap(\.complaint).first {
                return violation(plans[0], complaint)
            }
            // What it finds stays, unless a job repairs it.
            let isLast = number == plans[0].rounds.count - 1
            async let finding = isLast || plans[0].hasJobs ? registry.verify() : nil
            let steps = jobs.flatMap(\.steps)
            let checked = try await race(called.count) { place in
                let (index, app, own) = called[place]
                return (index: index, try await Self.check(app, own.map { $0.by(registry.clock) }, steps))
            }
            for (index, (app, complaint)) in checked {
                if let complaint { return violation(plans[index], complaint) }
                apps[index] = app
            }
            if let finding = try await finding { return violation(plans[0], finding) }
        }
        return nil
    }

    /// - Returns: the app after the calls, and what is wrong with them.
    private static func check(
        _ app: ModelApp, _ calls: [ModelStep], _ ofJobs: [ModelStep]
    ) async throws -> (ModelApp, complaint: String?) {
        if let stranger = calls.first(where: { $0.response.map { !statuses.contains($0.status) } ?? false }) {
            return (app, "an unexpected response: \(stranger)")
        }
        var app = app
        do {
            try await app.check(calls + ofJobs)
            return (app, nil)
        } catch let error as NoSerialOrder {
            return (app, error.description)
        }
    }
}
