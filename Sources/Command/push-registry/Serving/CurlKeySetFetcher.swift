import HTTPFetch
import PushRegistry
import RegistryAPI

/// Calls identity providers with libcurl, each time on a thread of its own.
struct CurlKeySetFetcher: IdentityProviderFetcher {
    private let fetch: HTTPFetch

    init(allowsPrivateAddresses: Bool) {
        fetch = HTTPFetch(
            bytesMax: PublishedKeySet.bytesMax,
            peers: allowsPrivateAddresses ? .publicAndPrivate : .publicOnly,
            userAgent: "push-registry/\(PushRegistryCommand.version)")
    }

    func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet {
        let document = try await fetched(url)
        return PublishedKeySet(text: document.bytes, maxAge: document.maxAge)
    }

    func document(at url: KeySetURL) async throws(KeySetFailure) -> [UInt8] { try await fetched(url).bytes }

    func document(
        at url: KeySetURL, posting form: [(name: String, value: String)], as client: (name: String, secret: String)?
    ) async throws(KeySetFailure) -> [UInt8] {
        try await fetched(url, posting: PostedForm(form, as: client)).bytes
    }

    private func fetched(
        _ url: KeySetURL, posting form: PostedForm? = nil
    ) async throws(KeySetFailure) -> FetchedDocument {
        do throws(FetchFailure) {
            return try await fetch.document(at: url.text, posting: form)
        } catch .refusedAddress(let address) {
            throw KeySetFailure(
                reason: "the address \(address) must not be called (--jwks-private-addresses, "
                    + "PUSH_REGISTRY_JWKS_PRIVATE_ADDRESSES)")
        } catch {
            throw KeySetFailure(reason: error.description)
        }
    }
}
