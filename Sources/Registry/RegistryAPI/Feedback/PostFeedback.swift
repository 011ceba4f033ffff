// POST /v1/apps/{app}/feedback

import EventLoop
import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    var postFeedback: Route {
        appRoute(
            .post, "/v1/apps/{app}/feedback", allowing: [.service, .sender], bodyBytesMax: bodyLimits.feedbackBytesMax
        ) { request, call in
            let arrivedAt = ContinuousClock.now
            let (body, form) = try request.listBody()
            // Ten thousand items take tens of milliseconds to parse and apply, which would block the loop's other
            // requests. To use the loop's database connections, the task returns to the loop by itself.
            let (parsed, counts) = try await offLoop { [feedback, messages, receiptKeys] in
                let parsed = try FeedbackBody.parse(body, as: form, app: call.app.number)
                let failures = try await FailedPushes(parsed.items, of: call.app, receiptKeys, at: .now())
                    .located(in: call.app, messages)
                let counts = try await feedback.apply(
                    Feedback(of: call.app, items: parsed.items, actor: call.caller.actor, arrivedAt: arrivedAt))
                try await failures.count(in: call.app.number, messages)
                return (parsed, counts)
            }
            for opened in counts.opened {
                var metadata: Logger.Metadata = ["app": "\(call.app.id)", "provider": "\(opened.provider.rawValue)"]
                if !opened.kind.isEmpty { metadata["kind"] = "\(opened.kind)" }
                logger.error(
                    "too many tokens are reported as dead: the breaker for feedback holds the rest",
                    metadata: metadata)
            }
            return response(counts, to: parsed)
        }
    }

    private func response(_ counts: FeedbackCounts, to body: FeedbackBody) -> ServerResponse {
        return .json { writer in
            writer.member("received", body.items.count + body.invalid)
            writer.member("unregistered", counts[.unregistered])
            writer.member("suspect", counts[.suspect] + counts[.held])
            writer.member("outdated", counts[.outdated])
            writer.member("unknown", counts[.unknown])
            writer.member("ignored", counts[.ignored])
            writer.object("ignoredReasons") { writer in
                for (reason, count) in counts.ignoredReasons {
                    writer.name(reason)
                    writer.integer(Int64(count))
                }
            }
            writer.member("held", counts[.held])
            writer.invalidItems(of: body)
        }
    }
}

/// The body of feedback.
typealias FeedbackBody = ListBody<FeedbackItem>

extension FeedbackBody {
    /// - Parameter receivedAt: the time by which timestamps are checked for plausibility.
    static func parse(
        _ bytes: [UInt8], as form: ListForm?, app: AppNumber, receivedAt: Timestamp = .now()
    ) throws -> FeedbackBody {
        try parse(bytes, as: form) { FeedbackItem($0, of: app, receivedAt: receivedAt) }
    }
}
