/// What a peer may make the parser hold or look at. Sizes count the bytes of the wire.
///
/// The body's limit is not here: each route has its own, set on the parser once the head is known
/// (``RequestParser/bodyBytesMax``).
public struct WireLimits: Sendable, Hashable {
    /// The longest method (501 beyond). The registered ones end at 17 (`UPDATEREDIRECTREF`).
    public var methodBytesMax = 32

    /// The longest request target (414 beyond); RFC 9112 section 3 asks for at least 8,000.
    public var targetBytesMax = 8 * 1024

    /// The longest field section, its line endings and the empty line at its end included (431 beyond).
    public var headerBytesMax = 32 * 1024

    /// The most field lines of a head (431 beyond), and of a trailer section (400 beyond).
    public var fieldsMax = 100

    /// Empty lines before a request line. RFC 9112 section 2.2 asks for one, which old clients send after a body.
    public var leadingEmptyLinesMax = 4

    /// The most digits of a chunk size: sixteen hold 64 bits, more can only be padding.
    public var chunkSizeDigitsMax = 16

    /// The bytes of chunk extensions in one body, all chunks together: they are read and thrown away, so that a
    /// body of tiny chunks with long extensions would otherwise be unlimited work (RFC 9112 section 7.1.1).
    public var chunkExtensionBytesMax = 4 * 1024

    /// The longest trailer section, its line endings included.
    public var trailerBytesMax = 8 * 1024

    /// What ``RequestParser/bodyBytesMax`` falls back to at the start of each request.
    public var bodyBytesDefault = 64 * 1024

    public init() {}
}
