import PushRegistry
import StrictJSON

extension JSONObject {
    /// The member `kind` of typed tokens. Nil if it is absent, and after a fault.
    func tokenKind() -> TokenKind? {
        guard let value = value("kind"), let text = value.text() else { return nil }
        if let kind = TokenKind(rawValue: text) { return kind }
        let names = TokenKind.allCases.map(\.rawValue).joined(separator: ", ")
        value.refuse(.unknownValue, "This must be one of \(names).")
        return nil
    }

    /// The member `name`, which is there. Nil after a fault.
    func tokenName(of kind: TokenKind) -> String? {
        guard let value = value("name"), let text = value.text() else { return nil }
        return value.parsed { () throws(InvalidValue) in try TypedTokenKey(kind, name: text).name }
    }

    func refuseNameWithoutKind() {
        value("name")?.refuse(.required, "A name requires a kind.")
    }
}

extension Provider {
    /// The environment of APNs, for tokens of `apns` and `apnsSandbox`.
    var environment: String { self == .apnsSandbox ? "sandbox" : "production" }
}
