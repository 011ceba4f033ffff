// POST /v1/apps/{app}/audience/waves

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// The times at which to send so that pushes arrive at the same local time everywhere.
    var planWaves: Route {
        audienceRoute("/waves") { request, call in
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
        (self.time, self.day) = (time, day)
    }

    private static func time(_ root: JSONObject) -> LocalTime? {
        let value = root.required("localTime")
        let time = value?.parsedText(LocalTime.init)
        if let time, !time.isWithinDay { value?.refuse(.outOfRange, "This must be before 24:00.") }
        return time
    }
}

extension JSONWriter {
    /// `{asOf, total, waves: [{at, count, timeZones: [], clockChanges?: []}], withoutTimeZone}`.
    fileprivate init(_ schedule: AudienceWaves) {
        self.init(capacity: 4_096) { writer in
            writer.member("asOf", schedule.asOf.description)
            writer.member("total", schedule.total)
            writer.objects("waves", schedule.waves) { writer, wave in
                writer.member("at", wave.at.description)
                writer.member("count", wave.count)
                writer.name("timeZones")
                writer.array { writer in
                    for zone in wave.timeZones { zone.map { writer.string($0) } ?? writer.null() }
                }
                if !wave.clockChanges.isEmpty {
                    writer.array("clockChanges", wave.clockChanges) { $0.clockChange($1) }
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
