import Crypto
import PushRegistry
import StrictJSON

extension FeedbackItem {
    private static let members: [StaticString] = [
        "token", "installId", "provider", "reason", "timestamp", "generation", "message", "receipt", "kind", "name",
    ]

    /// Parses `{token or installId, provider?, kind?, name?, reason, timestamp?, generation?, message?, receipt?}`. Nil
    /// after a fault.
    init?(_ value: JSONValue, of app: AppNumber, receivedAt: Timestamp) {
        guard let item = value.object() else { return nil }
        item.refuseUnknownMembers(besides: Self.members)
        let subject = item.subject(of: app)
        let reason = item.reason()
        let at = item.time(receivedAt: receivedAt)
        let generation = item.integer("generation", in: 0...Int64.max)
        let message = item.string("message", scalarsMax: Device.textScalarsMax)
        let receipt = item.string("receipt", scalarsMax: Device.textScalarsMax)
        let kind = item.tokenKind()
        let name = item.value("name") == nil ? nil : kind.flatMap { item.tokenName(of: $0) }
        if item.value("kind") == nil { item.refuseNameWithoutKind() }
        guard let subject, let reason else { return nil }
        self.init(
            installID: subject.installID, provider: subject.provider, addresses: subject.addresses, reason: reason,
            at: at, generation: generation, message: message.flatMap { try? MessageName($0) }, receipt: receipt,
            kind: kind, name: name, namesProvider: item.value("provider") != nil)
    }
}

private struct FeedbackSubject {
    let installID: InstallID?
    let provider: Provider?
    let addresses: [TokenAddress]
}

extension JSONObject {
    /// The default provider is `apns`. If the item names an installation, it is the installation's provider instead.
    fileprivate func subject(of app: AppNumber) -> FeedbackSubject? {
        let text = string("token", scalarsMax: Token.charactersMax)
        let name = string("installId", scalarsMax: Device.textScalarsMax)
        let namesProvider = value("provider") != nil
        let provider = provider()
        if value("token") == nil, value("installId") == nil {
            refuse(member: "token", .required, "An item requires a token or an installId.")
            return nil
        }
        let installID = name.flatMap { name in parsed("installId") { () throws(InvalidValue) in try InstallID(name) } }
        guard let provider, text != nil || installID != nil else { return nil }
        let hasOneProvider = namesProvider || installID == nil || value("kind") != nil
        let candidates = hasOneProvider ? [provider] : Provider.allCases
        guard let addresses = text.map({ addresses($0, among: candidates, of: app) }) ?? [] else { return nil }
        return FeedbackSubject(
            installID: installID, provider: candidates.count == 1 ? provider : nil, addresses: addresses)
    }

    /// One address for each provider for which the token is valid; nil, with a fault, if there is none.
    private func addresses(_ text: String, among providers: [Provider], of app: AppNumber) -> [TokenAddress]? {
        var addresses: [TokenAddress] = []
        var reason: InvalidValue?
        for provider in providers {
            do throws(InvalidValue) {
                let token = try Token(text, of: provider)
                addresses.append(TokenAddress(token, of: app))
            } catch {
                reason = error
            }
        }
        guard addresses.isEmpty, let reason else { return addresses }
        refuse(member: "token", reason)
        return nil
    }

    /// A string, or the digits of a number.
    fileprivate func reason() -> String? {
        guard let value = value("reason", .required) else { return nil }
        switch value.kind {
        case .string:
            return value.string(scalarsMax: Device.textScalarsMax)
        case .number:
            let text = String(decoding: value.rawBytes, as: UTF8.self)
            return Double(text).flatMap { Int64(exactly: $0) }.map(String.init) ?? text
        default:
            value.refuse(.wrongType, "This must be a string or a number.")
            return nil
        }
    }

    /// RFC 3339, or milliseconds since 1970. Seconds instead of milliseconds would be a time in 1970: every verdict
    /// would be outdated and dead tokens would stay, so implausible times are refused.
    fileprivate func time(receivedAt: Timestamp) -> Timestamp? {
        guard let value = value("timestamp") else { return nil }
        let time: Timestamp? =
            switch value.kind {
            case .string: Timestamp(value.text() ?? "")
            case .number:
                Double(String(decoding: value.rawBytes, as: UTF8.self)).flatMap { Int64(exactly: $0) }
                    .flatMap { Timestamp(milliseconds: $0) }
            default: nil
            }
        if time == nil {
            let isText = value.kind == .string || value.kind == .number
            value.refuse(
                isText ? .invalidTime : .wrongType, "This must be an RFC 3339 time, or milliseconds since 1970.")
        }
        guard let time, time < Self.earliestTime || time > receivedAt.advanced(by: .days(1)) else { return time }
        value.refuse(
            .outOfRange,
            "This must be between 2015 and tomorrow: an RFC 3339 time, or milliseconds (not seconds) since 1970.")
        return nil
    }

    /// 2015-01-01T00:00:00Z, before the providers' current APIs existed.
    private static let earliestTime = Timestamp(microseconds: 1_420_070_400_000_000)
}

extension TokenAddress {
    init(_ token: Token, of app: AppNumber) {
        self.init(app: app, provider: token.provider, sha256: Array(SHA256.hash(data: Array(token.text.utf8))))
    }
}

extension JSONFault.Code {
    static let invalidTime = JSONFault.Code(rawValue: "invalid-time")
}
