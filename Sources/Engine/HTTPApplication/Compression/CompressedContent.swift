import HTTPTypes
import HTTPWire

/// A file in memory that never changes, compressed once. Copying it copies no bytes.
public struct CompressedContent: Sendable {
    /// The file as given to `init`.
    public let plain: [UInt8]
    /// The file as one gzip member (RFC 1952).
    public let gzip: [UInt8]
    private let contentType: String
    private let entityTag: String

    /// - Parameter entityTag: identifies `plain`: letters, digits and hyphens, without quotes.
    /// - Throws: if there is no memory for the compression.
    public init(_ plain: [UInt8], contentType: String, entityTag: String) throws {
        var encoder = try GzipEncoder(.most)
        self.plain = plain
        gzip = try encoder.encode(plain[...], then: .end)
        self.contentType = contentType
        self.entityTag = entityTag
    }

    /// 304 if the client has the file already (RFC 9110, section 13.1.2), else the file in the coding that the client
    /// prefers.
    public func response(to request: ServerRequest, cacheControl: String) -> ServerResponse {
        let sendsGzip = AcceptEncoding(request.head.values(of: .acceptEncoding)).prefersGzip
        // A strong validator promises identical bytes, so each coding has its own (RFC 9110, section 8.8.1).
        let tag = sendsGzip ? "\"\(entityTag)-gzip\"" : "\"\(entityTag)\""
        var fields: HTTPFields = [.eTag: tag, .cacheControl: cacheControl, .vary: "Accept-Encoding"]
        if let known = request.head[.ifNoneMatch], known == "*" || known.contains(tag) {
            return ServerResponse(.notModified, fields: fields)
        }
        fields[.contentType] = contentType
        if sendsGzip { fields[.contentEncoding] = "gzip" }
        return ServerResponse(.ok, fields: fields, body: .constant(sendsGzip ? gzip : plain))
    }
}

/// The content codings that a client accepts: `Accept-Encoding` of RFC 9110, section 12.5.3.
struct AcceptEncoding {
    /// Weights in thousandths by lower-case coding.
    private var weights: [String: Int] = [:]

    /// - Parameter values: the field's lines; none if it is absent.
    init(_ values: [String]) {
        for element in values.flatMap({ $0.lowercased().listElements() }) {
            let parts = element.listElements(separator: UInt8(ascii: ";"))
            guard let coding = parts.first else { continue }
            // If a coding is named twice, the first one counts.
            if weights[coding] == nil { weights[coding] = Self.weight(parts.dropFirst()) }
        }
    }

    /// Whether to send gzip. Only if the client asks: clients that do not know codings send no such field.
    var prefersGzip: Bool {
        let gzip = weights["gzip"] ?? weights["x-gzip"] ?? weights["*"] ?? 0
        return gzip > 0 && gzip >= weights["identity"] ?? 0
    }

    /// Whether a response without a coding is acceptable; it is unless the client excludes it explicitly.
    var acceptsIdentity: Bool {
        weights["identity"] ?? weights["*"] ?? 1 > 0
    }

    /// The weight among a coding's parameters, 1 by default. A malformed weight excludes its coding.
    private static func weight(_ parameters: ArraySlice<String>) -> Int {
        guard let parameter = parameters.first(where: { $0.hasPrefix("q=") }) else { return 1_000 }
        return thousandths(parameter.dropFirst(2)) ?? 0
    }

    /// `0`, `0.5`, `1.000`: one digit and up to three decimals.
    private static func thousandths(_ text: Substring) -> Int? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let decimals = parts.count == 2 ? parts[1] : ""
        guard parts[0] == "0" || parts[0] == "1", decimals.utf8.count <= 3,
            decimals.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        let value = Int(parts[0] + decimals + String(repeating: "0", count: 3 - decimals.utf8.count))
        return value.flatMap { $0 <= 1_000 ? $0 : nil }
    }
}
