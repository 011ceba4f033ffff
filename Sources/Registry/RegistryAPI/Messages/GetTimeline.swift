// GET /v1/apps/{app}/messages/{message}/timeline

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var getTimeline: Route {
        appRoute(.get, Self.messagePattern + "/timeline", allowing: Self.audienceRoles) { request, call in
            var query = try QueryParameters(request, ["interval"])
            let interval = query.duration("interval") ?? .hours(1)
            try query.check()
            let message = try await message(of: call, in: request)
            let buckets: TimelineBuckets
            do throws(InvalidValue) {
                buckets = try TimelineBuckets(of: message, every: interval, now: .now())
            } catch {
                throw APIError.invalidParameters([.query("interval", error.code, error.detail)])
            }
            let (asOf, counts) = try await messages.timeline(of: message.number, in: buckets, in: call.app.number)
            return .json(JSONWriter(buckets, counts, asOf: asOf))
        }
    }
}

extension JSONWriter {
    /// `{interval, buckets: [{at, delivered, opened, dismissed}], asOf}`.
    fileprivate init(_ buckets: TimelineBuckets, _ counts: [MessageCounts], asOf: Timestamp) {
        self.init(capacity: 96 * (buckets.count + 1))
        object { writer in
            writer.member("interval", buckets.interval.description)
            writer.name("buckets")
            writer.array { writer in
                for (index, counts) in counts.enumerated() {
                    writer.object { writer in
                        writer.member("at", buckets.time(of: index).description)
                        writer.member("delivered", counts.delivered)
                        writer.member("opened", counts.opened)
                        writer.member("dismissed", counts.dismissed)
                    }
                }
            }
            writer.member("asOf", asOf.description)
        }
    }
}
