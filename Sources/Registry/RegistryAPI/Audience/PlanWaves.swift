// POST /v1/apps/{app}/audience/waves

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// The times at which to send so that pushes arrive at the same local time everywhere.
    var planWaves: Route {
        appRoute(
            .post, Self.audiencePattern + "/waves", allowing: Self.audienceRoles,
            bodyBytesMax: AudienceLimits.bodyBytesMax
        ) { request, call in
            let body = try await request.parsedJSON { bytes in
                try AudienceBody.parse(
                    bytes, in: vocabulary(of: call.app), members: ["localTime", "date", "explain"], WaveOptions.init)
            }
            let waves = try await audiences.waves(
                try await audience(body, for: call), at: body.options.time, on: body.options.day,
                explains: body.explains)
            return .json(JSONWriter(waves))
        }
    }
}

/// The members `localTime` and `date`.
private struct WaveOptions {
    let time: LocalTime
    let day: CalendarDay

    /// Nil after a fault.
    init?(_ root: JSONObject) {
        let time = Self.time(root)
        let day = root.required("date")?.day()
        guard let time, let day else { return nil }
        self.time = time
        self.day = day
    }

    private static func time(_ root: JSONObject) -> LocalTime? {
        guard let value = root.required("localTime"), let text = value.text() else { return nil }
        let time = value.parsed { () throws(InvalidValue) in try LocalTime(text) }
        if let time, !time.isWithinDay { value.refuse(.outOfRange, "This must be before 24:00.") }
        return time
    }
}

extension JSONWriter {
    /// `{asOf, total, waves: [{at, count, timeZones: [], clockChanges?: []}], withoutTimeZone}`.
    fileprivate init(_ schedule: AudienceWaves) {
        self.init(capacity: 4_096)
        object { writer in
            writer.member("asOf", schedule.asOf.description)
            writer.member("total", schedule.total)
            writer.name("waves")
            writer.array { writer in
                for wave in schedule.waves {
                    writer.object { writer in
                        writer.member("at", wave.at.description)
                        writer.member("count", wave.count)
                        writer.name("timeZones")
                        writer.array { writer in
                            for zone in wave.timeZones { zone.map { writer.string($0) } ?? writer.null() }
                        }
                        if !wave.clockChanges.isEmpty {
                            writer.name("clockChanges")
                            writer.array { writer in
                                for change in wave.clockChanges { writer.clockChange(change) }
                            }
                        }
                    }
                }
            }
            writer.member("withoutTimeZone", schedule.withoutTimeZone)
            writer.member(schedule.plan)
        }
    }

    /// `{timeZone, change, localTime?}`
    private mutating func clockChange(_ change: AudienceWaves.ClockChange) {
        object { writer in
            writer.member("timeZone", change.timeZone)
            writer.member("change", change.skippedTo == nil ? "repeated" : "skipped")
            if let time = change.skippedTo { writer.member("localTime", time) }
        }
    }
}
