import HTTPFetch
import PushRegistry
import RegistryAPI

/// Fetches key sets with libcurl, each on its own thread.
struct CurlKeySetFetcher: KeySetFetcher {
    private let fetch: HTTPFetch

    init(allowsPrivateAddresses: Bool) {
        fetch = HTTPFetch(
            bytesMax: PublishedKeySet.bytesMax,
            peers: allowsPrivateAddresses ? .publicAndPrivate : .publicOnly,
            userAgent: "push-registry/\(PushRegistryCommand.version)")
    }

    func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet {
        do throws(FetchFailure) {
            let document = try await fetch.document(at: url.text)
            return PublishedKeySet(text: document.bytes, maxAge: document.maxAge)
        } catch .refusedAddress(let address) {
            throw KeySetFailure(
                reason: "the address \(address) must not be called (--jwks-private-addresses, "
                    + "PUSH_REGISTRY_JWKS_PRIVATE_ADDRESSES)")
        } catch {
            throw KeySetFailure(reason: error.description)
        }
    }
}
