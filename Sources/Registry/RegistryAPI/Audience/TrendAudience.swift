// POST /v1/apps/{app}/audience/trend

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// The counts of past days. Days without a record are left out.
    var trendAudience: Route {
        audienceRoute("/trend") { request, call in
            let body = try await request.parsedJSON { bytes in
                try AudienceBody.parse(
                    bytes, in: vocabulary(of: call.app), members: ["kind", "name", "from", "to", "interval"],
                    TrendOptions.init)
            }
            let audience = try await audience(body, for: call)
            let points = try await recorded(audience) { try await audiences.counts(audience, on: body.options.days) }
            return .json(JSONWriter(points))
        }
    }

    /// Names the part of the request of which there is no record.
    ///
    /// - Parameters:
    ///   - fields: those of a breakdown.
    ///   - isQuery: whether the request has parameters, and no body.
    func recorded<Value>(
        _ audience: Audience, by fields: [AudienceField] = [], isQuery: Bool = false,
        _ read: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await read()
        } catch let refusal as AudienceRefusal {
            guard let fault = JSONFault(refusal, of: audience, by: fields) else { throw refusal }
            guard isQuery else { throw JSONFaults([fault]) }
            throw APIError.invalidParameters([.query("asOf", fault.code.rawValue, fault.detail)])
        }
    }
}

/// The members `from`, `to` and `interval`.
private struct TrendOptions {
    let days: [CalendarDay]

    /// Nil after a fault.
    init?(_ root: JSONObject) {
        let first = root.required("from")?.day()
        let end = root.required("to")
        let last = end?.day()
        let name = root.required("interval")
        let interval = name?.text().flatMap { text in
            let found = AudienceTrend.Interval(rawValue: text)
            if found == nil { name?.refuse(.unknownValue, "This must be one of \(Self.intervals).") }
            return found
        }
        guard let first, let last, let interval else { return nil }
        guard first <= last else {
            end?.refuse(.outOfRange, "This must not be before from.")
            return nil
        }
        guard let days = AudienceTrend.days(from: first, to: last, every: interval) else {
            end?.refuse(.tooMany, "At most \(AudienceTrend.pointsMax) points: use a later from, or a longer interval.")
            return nil
        }
        self.days = days
    }

    private static let intervals = AudienceTrend.Interval.allCases.map(\.rawValue).joined(separator: ", ")
}

extension JSONValue {
    /// A day such as `2026-11-22`; nil after a fault.
    func day() -> CalendarDay? {
        parsedText(CalendarDay.init(_:))
    }
}

extension JSONObject {
    /// The optional member `asOf`; nil after a fault.
    ///
    /// - Parameter others: members that are of the present only.
    func asOf(without others: [StaticString] = []) -> CalendarDay?? {
        guard let value = value("asOf") else { return .some(nil) }
        guard let day = value.day() else { return nil }
        for other in others where self.value(other) != nil {
            refuse(member: other, .unknownMember, "This member cannot stand beside asOf.")
        }
        return day
    }
}

extension JSONFault {
    /// Nil unless the refusal is of records.
    fileprivate init?(_ refusal: AudienceRefusal, of audience: Audience, by groups: [AudienceField]) {
        switch refusal {
        case .tooExpensive, .exportExpired: return nil
        case .noRecord(let day):
            self.init(
                pointer: "/asOf", code: .noRecord,
                detail: "There is no record of \(day). The night job records each day, from the next day on and for "
                    + "400 days.")
        case .outsideRecords(let fields):
            let known = AudienceField.allCases.filter(\.isOfCells).map(\.rawValue).joined(separator: ", ")
            let other =
                fields.isEmpty
                ? "Records have one topic that is not locked, and of tokens of a kind what is reachable, without "
                    + "names and topics. "
                : "Records do not have \(fields.map(\.rawValue).joined(separator: ", ")). "
            self.init(
                pointer: Self.pointer(to: fields, of: audience, by: groups), code: .notInRecord,
                detail: other + "They have \(known).")
        }
    }

    /// The first member that asks for what records lack.
    private static func pointer(
        to fields: [AudienceField], of audience: Audience, by groups: [AudienceField]
    ) -> String {
        guard fields.isEmpty else {
            guard audience.filter.fields.isDisjoint(with: fields) else { return "/filter" }
            return groups.firstIndex(where: fields.contains).map { "/by/\($0)" } ?? "/filter"
        }
        guard let tokens = audience.tokens else { return "/filter" }
        if tokens.name != nil { return "/name" }
        if audience.include != .reachable { return "/include" }
        return groups.firstIndex(of: .topic).map { "/by/\($0)" } ?? "/filter"
    }
}

extension JSONFault.Code {
    /// A day of which nothing was recorded.
    fileprivate static let noRecord = JSONFault.Code(rawValue: "no-record")
    /// A filter or groups by fields that records of past days lack.
    fileprivate static let notInRecord = JSONFault.Code(rawValue: "not-in-record")
}

extension JSONWriter {
    /// `{points: [{at, count}]}`.
    fileprivate init(_ points: [AudienceTrend.Point]) {
        self.init(capacity: 48 * (points.count + 1)) { writer in
            writer.objects("points", points) { writer, point in
                writer.member("at", point.day.description)
                writer.member("count", point.count)
            }
        }
    }
}
