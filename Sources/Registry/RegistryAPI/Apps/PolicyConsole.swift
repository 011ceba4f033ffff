import PushRegistry
import StrictJSON

/// Reads and writes policies in the JSON of the API, for the command line.
public enum PolicyConsole {
    /// The faults of a policy, one line each.
    public struct Refusal: Error, CustomStringConvertible {
        public let lines: [String]

        public var description: String { lines.joined(separator: "\n") }
    }

    /// The JSON of `GET /v1/apps/{app}`. Symmetric keys are shown without their secrets.
    public static func text(of app: App) -> String {
        String(decoding: PolicyJSON.text(of: app).bytes, as: UTF8.self)
    }

    /// Parses a policy.
    ///
    /// - Parameters:
    ///   - text: the body of `PUT` and `PATCH /v1/apps/{app}`.
    ///   - present: the current policy; nil if it cannot be used.
    ///   - keepsAbsentMembers: whether absent members stay as they are (`PATCH`) or get their defaults (`PUT`).
    public static func policy(
        _ text: String, of id: AppID, replacing present: AppPolicy?, keepsAbsentMembers: Bool
    ) throws(Refusal) -> AppPolicy {
        let draft = keepsAbsentMembers ? present?.draft : nil
        do throws(JSONFaults) {
            return try PolicyBody.parse(Array(text.utf8), changing: draft ?? .init(), of: id, replacing: present)
        } catch {
            throw Refusal(lines: error.faults.map { "\($0.pointer.isEmpty ? "policy" : $0.pointer): \($0.detail)" })
        }
    }
}
