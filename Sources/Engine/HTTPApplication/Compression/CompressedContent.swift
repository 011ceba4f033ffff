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
