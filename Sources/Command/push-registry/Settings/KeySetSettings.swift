import ArgumentParser

/// The settings for fetching key sets (`jwksURL` of a policy).
struct KeySetSettings: Sendable {
    enum PrivateAddresses: String {
        case refused, allowed
    }

    /// Whether `jwksURL` may lead to private networks and to this machine. The administrator of an app sets the URL and
    /// need not be the operator of the service.
    let allowsPrivateAddresses: Bool

    init(_ reader: SettingsReader) throws {
        let name = "jwksPrivateAddresses"
        let text = reader.string(name) ?? PrivateAddresses.refused.rawValue
        guard let choice = PrivateAddresses(rawValue: text) else {
            throw reader.refusal(name, text, "refused or allowed")
        }
        allowsPrivateAddresses = choice == .allowed
    }
}

/// The flags of `KeySetSettings`.
struct KeySetOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Whether jwksURL may lead to private networks and this machine (default: refused).",
            valueName: "refused|allowed"))
    var jwksPrivateAddresses: String?

    /// The values by setting name.
    var flags: [String: String?] { ["jwksPrivateAddresses": jwksPrivateAddresses] }
}
