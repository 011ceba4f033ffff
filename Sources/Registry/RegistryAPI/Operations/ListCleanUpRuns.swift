// GET /v1/cleanup/runs

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    private static let cleanUpRunsMax = 100
    private static let cleanUpRunsStandard = 20

    /// The night job's runs, the newest first: of all apps for the admin key, of its own app for a key with the role
    /// admin. Only the command runs and undoes clean-ups.
    var listCleanUpRuns: Route {
        Route(.get, "/v1/cleanup/runs") { request in
            let (caller, _) = try await caller(request)
            try caller.requireAdmin()
            guard caller.isServerAdmin || caller.app != nil else {
                throw RefusedCall(
                    .forbidden("Your groups make you an admin of several apps: this requires a key of one."), caller)
            }
            let page = try PageRequest(
                request, sizes: 1...Self.cleanUpRunsMax, standard: Self.cleanUpRunsStandard
            ) { text in Int32(text).flatMap { $0 > 0 ? $0 : nil } }
            // One more run than requested shows whether another page follows.
            let runs = try await cleanUpRuns.runs(of: caller.app, before: page.after, limit: page.limit + 1)
            return .json(JSONWriter(runs.prefix(page.limit), hasMore: runs.count > page.limit, for: caller))
        }
    }
}

extension JSONWriter {
    /// `{runs: […], next}`.
    fileprivate init(_ runs: ArraySlice<RecordedCleanUp>, hasMore: Bool, for caller: Caller) {
        self.init { writer in
            writer.array("runs", runs) { $0.run($1, for: caller) }
            writer.member("next", hasMore ? runs.last.map { "\($0.number)" } : nil)
        }
    }

    private mutating func run(_ run: RecordedCleanUp, for caller: Caller) {
        object { writer in
            writer.member("run", run.number)
            writer.member("undoes", run.undoes)
            writer.member("startedAt", run.startedAt.description)
            writer.member("finishedAt", run.finishedAt?.description)
            writer.member("outcome", run.outcome)
            writer.name("maxShare")
            if let share = run.maxShare { writer.double(share) } else { writer.null() }
            if caller.isServerAdmin {
                writer.name("scope")
                if let scope = run.scope { writer.array { for app in scope { $0.string(app) } } } else { writer.null() }
                writer.upkeep(run.upkeep)
            }
            writer.member("appCount", run.appCount)
            writer.array("apps", run.apps) { $0.result($1) }
        }
    }

    private mutating func upkeep(_ upkeep: RecordedCleanUp.Upkeep) {
        member("tombstones", upkeep.tombstones)
        member("partitionsMade", upkeep.partitionsMade)
        member("partitionsDropped", upkeep.partitionsDropped)
        member("historyRemoved", upkeep.historyRemoved)
    }

    private mutating func result(_ result: RecordedCleanUp.AppResult) {
        object { writer in
            writer.member("app", result.app.rawValue)
            writer.member("active", result.active)
            writer.member("leaving", result.leaving)
            writer.member("share", result.active == 0 ? 0 : Double(result.leaving) / Double(result.active))
            writer.member("refused", result.isRefused)
            writer.object("counts") { writer in
                for step in CleanUpStep.allCases {
                    writer.name(step.rawValue)
                    writer.integer(Int64(result.counts[step]))
                }
                writer.member("typedTokens", result.counts.typedTokens)
            }
            writer.member("restored", result.restored)
            writer.member("restorable", result.restorable)
        }
    }
}
