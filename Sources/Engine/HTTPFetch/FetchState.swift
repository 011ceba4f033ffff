import Basics
import CCurl
import Glibc

/// The state of one fetch, which libcurl's callbacks read and change. Used by one thread.
final class FetchState {
    private let bytesMax: Int
    private let mayReach: (Reach) -> Bool

    private var bytes: [UInt8] = []
    private var isTooLarge = false
    /// The values of `Cache-Control` of the last response.
    private var cacheControl: [String] = []
    /// The last refused address.
    private var refused: IPAddress?

    init(bytesMax: Int, mayReach: @escaping (Reach) -> Bool) {
        self.bytesMax = bytesMax
        self.mayReach = mayReach
    }

    /// Makes a handle call this exchange, which must outlive the handle.
    ///
    /// - Returns: the code of libcurl.
    func attach(to handle: UnsafeMutableRawPointer, of library: inout curl_library_) -> Int32 {
        curl_set_callbacks_(
            &library, handle, Unmanaged.passUnretained(self).toOpaque(),
            { FetchState.of($3)?.takeHeader($0, $1 * $2) ?? 0 }, { FetchState.of($3)?.takeBody($0, $1 * $2) ?? 0 },
            { context, _, address in FetchState.of(context)?.openSocket(address) ?? CURL_SOCKET_BAD_ })
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> FetchState? {
        context.map { Unmanaged<FetchState>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Takes one header line with its line end. The responses of redirects have headers and bodies, too.
    private func takeHeader(_ data: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let line = String(decoding: UnsafeRawBufferPointer(start: data, count: count), as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            cacheControl = []
            bytes = []
        }
        let name = "cache-control:"
        if line.prefix(name.count).lowercased() == name { cacheControl.append(String(line.dropFirst(name.count))) }
        return count
    }

    /// Returning another count than `count` ends the fetch.
    private func takeBody(_ data: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard bytes.count + count <= bytesMax else {
            isTooLarge = true
            return 0
        }
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: data, count: count))
        return count
    }

    private func openSocket(_ peer: UnsafeMutablePointer<curl_sockaddr_>?) -> Int32 {
        guard let peer, let offset = MemoryLayout<curl_sockaddr_>.offset(of: \.address) else {
            return CURL_SOCKET_BAD_
        }
        // The pointer is derived from the whole structure, because an IPv6 address is longer than the member.
        let start = UnsafeRawPointer(peer) + offset
        guard let address = IPAddress(start.assumingMemoryBound(to: sockaddr.self)) else {
            return CURL_SOCKET_BAD_
        }
        guard mayReach(address.reach) else {
            refused = address
            return CURL_SOCKET_BAD_
        }
        return socket(peer.pointee.family, peer.pointee.kind | Int32(SOCK_CLOEXEC.rawValue), peer.pointee.protocol)
    }

    /// - Parameter reason: libcurl's description of the code.
    func document(code: Int32, status: Int, reason: String) throws(FetchFailure) -> FetchedDocument {
        if isTooLarge { throw .tooLarge(bytesMax: bytesMax) }
        guard code == CURLE_OK_ else {
            throw refused.map { .refusedAddress($0.description) } ?? .transport(reason)
        }
        guard status == 200 else { throw .status(status) }
        let maxAge = cacheControl.isEmpty ? nil : CacheControl(cacheControl.joined(separator: ",")).maxAge
        return FetchedDocument(bytes: bytes, maxAge: maxAge)
    }
}

/// The freshness in the field `Cache-Control` of a response (RFC 9111, section 5.2).
struct CacheControl: Hashable, Sendable {
    /// Nil if the field does not specify it; zero if a copy is forbidden or must be validated at each use.
    let maxAge: Duration?

    /// - Parameter value: the value of the field; those of several fields are joined by commas.
    init(_ value: String) {
        var (seconds, isForbidden) = (Int64?.none, false)
        for directive in value.split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.trimmed.lowercased() }
            switch parts.first {
            case "no-store", "no-cache": isForbidden = true
            case "max-age":
                let digits = parts.count > 1 ? parts[1].filter { $0 != "\"" } : ""
                // The first one counts. A number that does not fit into the type stands for the maximum.
                guard seconds == nil, !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { break }
                seconds = Int64(digits) ?? Int64(Int32.max)
            default: break
            }
        }
        maxAge = isForbidden ? .zero : seconds.map { .seconds(min($0, Int64(Int32.max))) }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        let end = lastIndex { !$0.isWhitespace }.map { index(after: $0) } ?? startIndex
        return self[..<end].drop { $0.isWhitespace }
    }
}
