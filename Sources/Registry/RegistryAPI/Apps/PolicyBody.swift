import PushRegistry
import StrictJSON

/// The body of `PUT /v1/apps/{app}` and `PATCH /v1/apps/{app}`: the members of the policy.
///
/// An absent member gets its default by a PUT and stays as it is by a PATCH (JSON Merge Patch, RFC 7396). `null` is the
/// default. An unknown member is a fault, so that a misspelt name never resets the member it was meant for.
enum PolicyBody {
    private static let names: [StaticString] = ["app"] + PolicyMember.all.map(\.name)

    /// - Parameters:
    ///   - draft: the members before the change.
    ///   - id: the app in the path. A body may contain it too, as the response of GET does.
    ///   - replaced: the current policy: a symmetric key without a secret keeps the stored one.
    /// - Throws: every fault of the body.
    static func parse(
        _ body: [UInt8], changing draft: AppPolicy.Draft, of id: AppID, replacing replaced: AppPolicy?
    ) throws(JSONFaults) -> AppPolicy {
        // An empty body stands for a policy of defaults.
        let document = try JSONDocument(body.isEmpty ? Array("{}".utf8) : body)
        var draft = draft
        if let root = document.root.object() {
            root.refuseUnknownMembers(besides: names)
            if let app = root.string("app", scalarsMax: Device.textScalarsMax), app != id.rawValue {
                root.refuse(member: "app", JSONFault.Code(rawValue: "wrong-app"), "The path names another app.")
            }
            for member in PolicyMember.all { member.read(root, &draft, replaced) }
        }
        let inconsistencies = draft.faults.map { fault in
            JSONFault(pointer: fault.pointer, code: .init(rawValue: fault.code), detail: fault.detail)
        }
        guard let policy = try? AppPolicy(draft), document.faults.isEmpty else {
            throw JSONFaults(document.faults + inconsistencies)
        }
        return policy
    }
}

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

/// Reads and writes policies in the JSON of the API, for the command line.
public enum PolicyConsole {
    /// The faults of a policy.
    public typealias Refusal = AudienceConsole.Refusal

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
