// POST /v1/apps/{app}/feedback/release
// POST /v1/apps/{app}/feedback/restore

import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    private static let repairBytesMax = 4 * 1024

    /// What the breaker holds becomes unregistered: the provider's verdicts were right.
    var releaseFeedback: Route {
        repair("/v1/apps/{app}/feedback/release", "released", .feedbackReleased, ["provider", "dryRun"]) { _ in
            .release
        }
    }

    /// What feedback has retired becomes active: the provider's verdicts were wrong.
    var restoreFeedback: Route {
        let members: [StaticString] = ["provider", "since", "dryRun"]
        return repair("/v1/apps/{app}/feedback/restore", "restored", .feedbackRestored, members) { root in
            guard let value = root.value("since", .required), let text = value.string(scalarsMax: Device.textScalarsMax)
            else { return nil }
            guard let since = Timestamp(text) else {
                value.refuse(.invalidTime, "This must be an RFC 3339 time such as 2026-11-22T09:30:00Z.")
                return nil
            }
            return .restore(since: since)
        }
    }

    /// - Parameters:
    ///   - name: of the response's only member.
    ///   - action: for the audit.
    ///   - decide: reads what only one of the two calls has; nil after a fault.
    private func repair(
        _ pattern: String, _ name: StaticString, _ action: AuditEntry.Action, _ members: [StaticString],
        _ decide: @escaping @Sendable (JSONObject) -> FeedbackRepair.Decision?
    ) -> Route {
        appRoute(.post, pattern, allowing: [.admin], bodyBytesMax: Self.repairBytesMax) { request, call in
            let repair = try JSONObject.read(try request.jsonBody(), members: members) { root -> FeedbackRepair? in
                let provider = root.value("provider", .required) == nil ? nil : root.provider()
                let (decision, isDryRun) = (decide(root), root.boolean("dryRun") ?? false)
                guard let provider, let decision else { return nil }
                return FeedbackRepair(
                    of: call.app.number, provider: provider, decision, isDryRun: isDryRun, actor: call.caller.actor,
                    recording: AuditEntry(action, provider.rawValue, by: call.caller, in: request))
            }
            let count = try await feedback.repair(repair)
            if let entry = repair.entry, !repair.isDryRun {
                audit.changed(entry, ["installations": "\(count)"], by: call.caller, in: request)
            }
            return .json { $0.member(name, count) }
        }
    }
}
