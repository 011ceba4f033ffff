import CCurl
import Foundation

/// A document that was fetched.
public struct FetchedDocument: Hashable, Sendable {
    public let bytes: [UInt8]
    /// How long it is fresh, if the server says so (`Cache-Control`).
    public let maxAge: Duration?
}

/// Fetches a document by HTTPS, with libcurl: certificates are verified, everything has a limit, and only peers that
/// may be called are connected to.
///
/// A URL may come from somebody who must not reach the machines around this one. So the address is checked where the
/// connection is made: after the name was resolved, and for each redirect. libcurl's own `https_proxy` counts; the
/// address is then the proxy's.
public struct HTTPFetch: Sendable {
    /// Redirects to the same scheme; one to another scheme is never followed.
    public static let redirectsMax = 3

    /// From the resolving of the name to the document's last byte, redirects included: a client waits for it.
    var timeout = Duration.seconds(5)
    /// A longer document is not read to its end.
    let bytesMax: Int
    let peers: Peers
    /// The field `User-Agent`.
    let userAgent: String

    public init(bytesMax: Int, peers: Peers, userAgent: String) {
        self.bytesMax = bytesMax
        self.peers = peers
        self.userAgent = userAgent
    }

    /// Fetches a document on a thread of its own: libcurl blocks it for up to `timeout`. A cancelled task waits as
    /// long.
    ///
    /// - Parameter url: https, or http, which only this machine serves.
    public func document(at url: String) async throws(FetchFailure) -> FetchedDocument {
        let result = await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: fetch(url)) }
            thread.name = "fetch"
            thread.start()
        }
        return try result.get()
    }

    private func fetch(_ url: String) -> Result<FetchedDocument, FetchFailure> {
        Result { () throws(FetchFailure) in try perform(url, with: try CurlLibrary.shared.get()) }
    }

    private func perform(_ url: String, with library: CurlLibrary) throws(FetchFailure) -> FetchedDocument {
        var functions = library.functions
        guard let handle = functions.easy_init() else { throw .transport("libcurl has no handle") }
        defer { functions.easy_cleanup(handle) }
        let isPlain = url.hasPrefix("http://")
        let exchange = Exchange(bytesMax: bytesMax) { peers.include($0, isPlain: isPlain) }
        let protocols = isPlain ? CURLPROTO_HTTP_ : CURLPROTO_HTTPS_
        let numbers: [(Int, Int)] = [
            (CURLOPT_NOSIGNAL_, 1), (CURLOPT_PROTOCOLS_, protocols),
            (CURLOPT_REDIR_PROTOCOLS_, protocols), (CURLOPT_FOLLOWLOCATION_, 1),
            (CURLOPT_MAXREDIRS_, Self.redirectsMax),
            (CURLOPT_TIMEOUT_MS_, Int(timeout / .milliseconds(1))),
        ]
        var codes = numbers.map { curl_set_number_(&functions, handle, Int32($0.0), $0.1) }
        codes.append(curl_set_text_(&functions, handle, Int32(CURLOPT_URL_), url))
        codes.append(curl_set_text_(&functions, handle, Int32(CURLOPT_USERAGENT_), userAgent))
        // A proxy does not lead to this machine.
        if isPlain || !peers.needCertificates {
            codes.append(curl_set_text_(&functions, handle, Int32(CURLOPT_PROXY_), ""))
        }
        if !peers.needCertificates {
            codes += [CURLOPT_SSL_VERIFYPEER_, CURLOPT_SSL_VERIFYHOST_].map {
                curl_set_number_(&functions, handle, Int32($0), 0)
            }
        }
        codes.append(exchange.attach(to: handle, of: &functions))
        // An option that is not set must not leave a limit out.
        guard codes.allSatisfy({ $0 == CURLE_OK_ }) else { throw .transport("libcurl refuses an option") }
        let code = withExtendedLifetime(exchange) { functions.easy_perform(handle) }
        return try exchange.document(
            code: code, status: curl_response_status_(&functions, handle),
            reason: functions.easy_strerror(code).map { String(cString: $0) } ?? "")
    }
}
