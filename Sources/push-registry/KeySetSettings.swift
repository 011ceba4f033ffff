import ArgumentParser
import HTTPFetch
import PushRegistry
import RegistryAPI

/// Where key sets may be fetched from (`jwksURL` of a policy).
struct KeySetSettings: Sendable {
    enum PrivateAddresses: String {
        case refused, allowed
    }

    /// Whether `jwksURL` may lead to private networks and to this machine. An app's administrator sets it, who need not
    /// be the one who runs the service.
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

    /// The settings by their names in the file.
    var flags: [String: String?] { ["jwksPrivateAddresses": jwksPrivateAddresses] }
}

/// Fetches key sets with libcurl, each on a thread of its own.
struct CurlKeySetFetcher: KeySetFetcher {
    private let fetch: HTTPFetch

    init(_ settings: KeySetSettings) {
        fetch = HTTPFetch(
            bytesMax: PublishedKeySet.bytesMax,
            peers: settings.allowsPrivateAddresses ? .publicAndPrivate : .publicOnly,
            userAgent: "push-registry/\(PushRegistryCommand.version)")
    }

    func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet {
        do throws(FetchFailure) {
            let document = try await fetch.document(at: url.text)
            return PublishedKeySet(text: document.bytes, maxAge: document.maxAge)
        } catch .refusedAddress(let address) {
            throw KeySetFailure(
                reason: "the address \(address) may not be called (--jwks-private-addresses, "
                    + "PUSH_REGISTRY_JWKS_PRIVATE_ADDRESSES)")
        } catch {
            throw KeySetFailure(reason: error.description)
        }
    }
}
