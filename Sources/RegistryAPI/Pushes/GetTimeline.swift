// GET /v1/apps/{app}/messages/{message}/timeline

import HTTPServer
import HTTPTypes
import HTTPWire
import PushRegistry
import StrictJSON

extension RegistryService {
    var getTimeline: Route {
        Route(.get, Self.messagePattern + "/timeline") { request in
            let call = try await appCall(request, allowing: Self.audienceRoles)
            let interval = try request.duration("interval") ?? .hours(1)
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

extension ServerRequest {
    /// The query parameters with these names; any other parameter is a fault.
    ///
    /// - Throws: `APIError.invalidParameters`.
    func parameters(_ names: [String]) throws -> [String: String] {
        var faults: [ParameterFault] = []
        var values: [String: String] = [:]
        for item in try head.queryItems() {
            if !names.contains(item.name) {
                let hint = NearestName.hint(for: item.name, among: names)
                faults.append(.query(item.name, "unknown-parameter", "No parameter has this name. " + hint))
            } else if values.updateValue(item.value, forKey: item.name) != nil {
                faults.append(.query(item.name, "invalid-parameter", "The parameter occurs twice."))
            }
        }
        guard faults.isEmpty else { throw APIError.invalidParameters(faults) }
        return values
    }

    /// The query parameter of this name, a duration; nil if it is absent. Any other parameter is a fault.
    ///
    /// - Throws: `APIError.invalidParameters`.
    fileprivate func duration(_ name: String) throws -> ISO8601Duration? {
        try Self.duration(name, try parameters([name])[name])
    }

    static func duration(_ name: String, _ text: String?) throws(APIError) -> ISO8601Duration? {
        guard let text else { return nil }
        do throws(InvalidValue) {
            return try ISO8601Duration(text)
        } catch {
            throw .invalidParameters([.query(name, error.code, error.detail)])
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
