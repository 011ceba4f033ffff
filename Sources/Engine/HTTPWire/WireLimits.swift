/// Limits on what a peer can make the parser store or read. Sizes count bytes on the wire.
///
/// The body's limit is not here: each route has its own, set on the parser when the head is complete
/// (``RequestParser/bodyBytesMax``).
public struct WireLimits: Sendable, Hashable {
    /// The longest method (501 beyond). The longest registered one has 17 bytes (`UPDATEREDIRECTREF`).
    public var methodBytesMax = 32

    /// The longest request target (414 beyond); RFC 9112 section 3 recommends at least 8,000 bytes.
    public var targetBytesMax = 8 * 1024

    /// The longest header section, including its line endings and the final empty line (431 beyond).
    public var headerBytesMax = 32 * 1024

    /// The most field lines of a head (431 beyond), and of a trailer section (400 beyond).
    public var fieldsMax = 100

    /// Empty lines before a request line. RFC 9112 section 2.2 requires one, which old clients send after a body.
    public var leadingEmptyLinesMax = 4

    /// The most digits of a chunk size: sixteen hold 64 bits; more can only be leading zeros.
    public var chunkSizeDigitsMax = 16

    /// The bytes of all chunk extensions in one body. They are dropped, so a body of tiny chunks with long extensions
    /// would otherwise cost unlimited work (RFC 9112 section 7.1.1).
    public var chunkExtensionBytesMax = 4 * 1024

    /// The longest trailer section, its line endings included.
    public var trailerBytesMax = 8 * 1024

    /// The value of ``RequestParser/bodyBytesMax`` at the start of each request.
    public var bodyBytesDefault = 64 * 1024

    /// Every limit has its default.
    public init() {}
}
