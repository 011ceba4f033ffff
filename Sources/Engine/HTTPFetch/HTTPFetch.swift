import Basics
import CCurl
import Foundation

/// A fetched document.
public struct FetchedDocument: Hashable, Sendable {
    public let bytes: [UInt8]
    /// How long the document is fresh (`Cache-Control`); nil if the server does not say so.
    public let maxAge: Duration?
}

/// A form that is posted, with the sender's credentials for Basic authentication.
public struct PostedForm: Sendable {
    let body: String
    /// `name:secret`, each form-encoded (RFC 6749, section 2.3.1); nil: no authentication.
    let credentials: String?

    public init(_ fields: [(name: String, value: String)], as sender: (name: String, secret: String)? = nil) {
        body = FormEncoding.text(of: fields)
        credentials = sender.map { "\(FormEncoding.text(of: $0.name)):\(FormEncoding.text(of: $0.secret))" }
    }
}

/// Fetches a document over HTTPS with libcurl. Certificates are verified, time and size are limited, and only allowed
/// peers are connected to.
///
/// The author of a URL may have no right to reach the machines of the private network. So the address is checked when a
/// socket is opened, after the name was resolved, and for each redirect. If `https_proxy` is set, libcurl uses the
/// proxy, and the checked address is the proxy's.
public struct HTTPFetch: Sendable {
    /// The number of redirects that are followed. A redirect to another scheme is never followed.
    public static let redirectsMax = 3

    /// The time for the whole fetch, from resolving the name to the last byte: a client waits meanwhile.
    var timeout = Duration.seconds(5)
    /// A longer document is a failure.
    let bytesMax: Int
    let peers: Peers
    /// The field `User-Agent`.
    let userAgent: String

    public init(bytesMax: Int, peers: Peers, userAgent: String) {
        self.bytesMax = bytesMax
        self.peers = peers
        self.userAgent = userAgent
    }

    /// Fetches a document on its own thread, because libcurl blocks it for up to `timeout`. Cancellation does not
    /// interrupt the fetch.
    ///
    /// - Parameters:
    ///   - url: an https URL, or an http URL of this machine.
    ///   - form: is posted. Then redirects are not followed.
    public func document(
        at url: String, posting form: PostedForm? = nil
    ) async throws(FetchFailure) -> FetchedDocument {
        let result = await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: fetch(url, form)) }
            thread.name = "fetch"
            thread.start()
        }
        return try result.get()
    }

    private func fetch(_ url: String, _ form: PostedForm?) -> Result<FetchedDocument, FetchFailure> {
        Result { () throws(FetchFailure) in try perform(url, form, with: try CurlLibrary.shared.get()) }
    }

    private func perform(
        _ url: String, _ form: PostedForm?, with library: CurlLibrary
    ) throws(FetchFailure) -> FetchedDocument {
        var functions = library.functions
        guard let handle = functions.easy_init() else { throw .transport("libcurl cannot create a handle") }
        defer { functions.easy_cleanup(handle) }
        let isPlain = url.hasPrefix("http://")
        let exchange = FetchState(bytesMax: bytesMax) { peers.include($0, isPlain: isPlain) }
        let protocols = isPlain ? CURLPROTO_HTTP_ : CURLPROTO_HTTPS_
        let numbers: [(Int, Int)] = [
            (CURLOPT_NOSIGNAL_, 1), (CURLOPT_PROTOCOLS_, protocols),
            (CURLOPT_REDIR_PROTOCOLS_, protocols), (CURLOPT_FOLLOWLOCATION_, form == nil ? 1 : 0),
            (CURLOPT_MAXREDIRS_, Self.redirectsMax),
            (CURLOPT_TIMEOUT_MS_, Int(timeout / .milliseconds(1))),
        ]
        var codes = numbers.map { curl_set_number_(&functions, handle, Int32($0.0), $0.1) }
        codes.append(curl_set_text_(&functions, handle, Int32(CURLOPT_URL_), url))
        codes.append(curl_set_text_(&functions, handle, Int32(CURLOPT_USERAGENT_), userAgent))
        if let form { codes.append(curl_set_text_(&functions, handle, Int32(CURLOPT_COPYPOSTFIELDS_), form.body)) }
        if let credentials = form?.credentials {
            codes.append(curl_set_text_(&functions, handle, Int32(CURLOPT_USERPWD_), credentials))
        }
        // This machine cannot be reached through a proxy.
        if isPlain || !peers.needCertificates {
            codes.append(curl_set_text_(&functions, handle, Int32(CURLOPT_PROXY_), ""))
        }
        if !peers.needCertificates {
            codes += [CURLOPT_SSL_VERIFYPEER_, CURLOPT_SSL_VERIFYHOST_].map {
                curl_set_number_(&functions, handle, Int32($0), 0)
            }
        }
        codes.append(exchange.attach(to: handle, of: &functions))
        // Without one of the options, a limit would be missing.
        guard codes.allSatisfy({ $0 == CURLE_OK_ }) else { throw .transport("libcurl rejects an option") }
        let code = withExtendedLifetime(exchange) { functions.easy_perform(handle) }
        return try exchange.document(
            code: code, status: curl_response_status_(&functions, handle),
            reason: functions.easy_strerror(code).map { String(cString: $0) } ?? "")
    }
}

/// libcurl, loaded on first use and never unloaded.
struct CurlLibrary: @unchecked Sendable {
    /// Not changed after `init`. Any thread may call the functions, each with its own handle.
    let functions: curl_library_

    static let shared = Result { () throws(FetchFailure) in try CurlLibrary() }

    private init() throws(FetchFailure) {
        var functions = curl_library_()
        if let reason = curl_load_(&functions) { throw .missingLibrary(String(cString: reason)) }
        self.functions = functions
    }
}

/// Why a document could not be fetched. The description is for the operator's log.
public enum FetchFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// libcurl.so.4 cannot be loaded.
    case missingLibrary(String)
    /// The host name resolves to an address that must not be called.
    case refusedAddress(String)
    case status(Int)
    case tooLarge(bytesMax: Int)
    /// A failure of name resolution, connection, certificate, time or redirects, as libcurl describes it.
    case transport(String)

    public var description: String {
        switch self {
        case .missingLibrary(let reason): "libcurl cannot be loaded, install the package libcurl4: \(reason)"
        case .refusedAddress(let address): "the address \(address) must not be called"
        case .status(let status): "the response has the status \(status)"
        case .tooLarge(let bytesMax): "the document has more than \(bytesMax) bytes"
        case .transport(let reason): reason
        }
    }
}
