// POST /v1/apps/{app}/messages/{message}/breakdown
// GET /v1/apps/{app}/messages/{message}/timeline

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// Marketing sees groups below the policy's `smallestGroup` only in the rest.
    var breakDownMessage: Route {
        appRoute(
            .post, Self.messagePattern + "/breakdown", allowing: Self.audienceRoles,
            bodyBytesMax: MessageLimits.bodyBytesMax
        ) { request, call in
            let options = try await request.parsedJSON { try MessageBreakdownOptions.parse($0) }
            let message = try await message(of: call, in: request)
            let (asOf, groups) = try await messages.groups(
                of: message.number, by: options.fields, in: call.app.number)
            let breakdown = MessageBreakdown(
                asOf: asOf, groups, limit: options.limit,
                smallestGroup: call.caller.has(any: [.sender]) ? 1 : call.app.policy.smallestGroup)
            return .json(JSONWriter(breakdown, by: options.fields))
        }
    }

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

/// `{by, limit?}`.
private struct MessageBreakdownOptions {
    private static let allowed: [AudienceField] = [.provider, .locale, .timeZone, .osVersion, .authorizationStatus]

    let fields: [AudienceField]
    let limit: Int

    static func parse(_ body: [UInt8]) throws -> MessageBreakdownOptions {
        try JSONObject.read(body, members: ["by", "limit"], refusesNull: true) { root in
            let (fields, limit) = (root.breakdownFields(among: allowed), root.limit())
            guard let fields, let limit else { return nil }
            return MessageBreakdownOptions(fields: fields, limit: limit)
        }
    }
}

extension JSONWriter {
    /// `{asOf, groups: [{<field>…, counts}], rest: {groups, counts}}`.
    fileprivate init(_ breakdown: MessageBreakdown, by fields: [AudienceField]) {
        self.init(capacity: 192 * (breakdown.groups.count + 2)) { writer in
            writer.member("asOf", breakdown.asOf.description)
            writer.objects("groups", breakdown.groups) { writer, group in
                for (field, value) in zip(fields, group.values) {
                    writer.name(field.rawValue)
                    if let value { writer.string(value) } else { writer.null() }
                }
                writer.members(group.counts)
            }
            writer.object("rest") { writer in
                writer.member("groups", breakdown.restGroups)
                writer.members(breakdown.rest)
            }
        }
    }

    /// `{interval, buckets: [{at, delivered, opened, dismissed}], asOf}`.
    fileprivate init(_ buckets: TimelineBuckets, _ counts: [MessageCounts], asOf: Timestamp) {
        self.init(capacity: 96 * (buckets.count + 1)) { writer in
            writer.member("interval", buckets.interval.description)
            writer.objects("buckets", counts.enumerated()) { writer, bucket in
                writer.member("at", buckets.time(of: bucket.offset).description)
                writer.member("delivered", bucket.element.delivered)
                writer.member("opened", bucket.element.opened)
                writer.member("dismissed", bucket.element.dismissed)
            }
            writer.member("asOf", asOf.description)
        }
    }
}
