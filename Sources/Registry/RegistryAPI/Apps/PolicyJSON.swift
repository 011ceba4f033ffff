import PushRegistry
import StrictJSON

/// An app with its policy in responses. Symmetric keys are shown without their secrets.
enum PolicyJSON {
    static func text(of app: App) -> JSONWriter {
        var writer = JSONWriter(capacity: 1_024)
        write(app, to: &writer)
        return writer
    }

    static func write(_ app: App, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("app", app.id.rawValue)
            for member in PolicyMember.all {
                writer.name(member.name)
                member.write(app.policy, &writer)
            }
        }
    }
}
