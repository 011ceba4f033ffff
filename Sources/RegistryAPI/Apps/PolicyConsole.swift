import PushRegistry
import StrictJSON

/// Policies in the terms of the API, without HTTP. For the command line.
public enum PolicyConsole {
    /// What is wrong with a policy, a line each.
    public struct Refusal: Error, CustomStringConvertible {
        public let lines: [String]

        public var description: String { lines.joined(separator: "\n") }
    }

    /// The app as `GET /v1/apps/{app}` shows it, in JSON: symmetric keys without what they sign with.
    public static func text(of app: App) -> String {
        String(decoding: PolicyJSON.text(of: app).bytes, as: UTF8.self)
    }

    /// Reads a policy.
    ///
    /// - Parameters:
    ///   - text: JSON, as `PUT` and `PATCH /v1/apps/{app}` take it.
    ///   - present: the policy that is replaced; nil if it cannot be used.
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
