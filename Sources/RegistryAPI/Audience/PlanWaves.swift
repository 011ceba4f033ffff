// POST /v1/apps/{app}/audience/waves

import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// When to send so that it is the same time of day everywhere.
    var planWaves: Route {
        Route(.post, Self.audiencePattern + "/waves", bodyBytesMax: AudienceLimits.bodyBytesMax) { request in
            let call = try await appCall(request, allowing: Self.audienceRoles)
            let body = try AudienceBody.parse(
                try request.jsonBody(), links: links, members: ["localTime", "date", "explain"], WaveOptions.init)
            let answer = try await audiences.waves(
                try await audience(body, of: call.app), at: body.options.time, on: body.options.day,
                explains: body.explains)
            return .json(JSONWriter(answer))
        }
    }
}

/// The members `localTime` and `date`.
private struct WaveOptions {
    let time: LocalTime
    let day: CalendarDay

    /// Nil where a fault was added.
    init?(_ root: JSONObject) {
        let time = Self.time(root)
        let day = Self.day(root)
        guard let time, let day else { return nil }
        self.time = time
        self.day = day
    }

    private static func time(_ root: JSONObject) -> LocalTime? {
        guard let value = root.required("localTime"), let text = value.text() else { return nil }
        do throws(InvalidValue) {
            let time = try LocalTime(text)
            if !time.isWithinDay { value.refuse(.outOfRange, "This must be before 24:00.") }
            return time
        } catch {
            value.refuse(error)
            return nil
        }
    }

    private static func day(_ root: JSONObject) -> CalendarDay? {
        guard let value = root.required("date"), let text = value.text() else { return nil }
        do throws(InvalidValue) {
            return try CalendarDay(text)
        } catch {
            value.refuse(error)
            return nil
        }
    }
}

extension JSONWriter {
    /// `{asOf, total, waves: [{at, count, timeZones: []}]}`.
    fileprivate init(_ answer: AudienceWaves) {
        self.init(capacity: 4_096)
        object { writer in
            writer.member("asOf", answer.asOf.description)
            writer.member("total", answer.total)
            writer.name("waves")
            writer.array { writer in
                for wave in answer.waves {
                    writer.object { writer in
                        writer.member("at", wave.at.description)
                        writer.member("count", wave.count)
                        writer.member("timeZones", wave.timeZones)
                    }
                }
            }
            writer.member(answer.plan)
        }
    }
}
