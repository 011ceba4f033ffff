import Basics

/// Finds the data in a chunked body (RFC 9112 section 7.1).
///
/// Chunk extensions and trailer fields are validated, limited and dropped. RFC 9110 section 6.5.1 forbids merging
/// trailers into the header unless their definition allows it, and no field used here does.
struct ChunkedBodyScanner {
    enum Step {
        /// Drop `framing` bytes at the front; `length` bytes of data follow them.
        case data(framing: Int, length: Int)
        /// The body is complete. Its last `framing` bytes are at the front.
        case end(framing: Int)
        /// All bytes are incomplete framing. Drop the first `framing` bytes.
        case needsMore(framing: Int)
    }

    private enum Phase {
        case size, spaceBeforeExtension, extensions, sizeLineFeed, data, dataReturn, dataLineFeed, trailers
    }

    private var phase = Phase.size
    private var sizeDigits = 0
    private var size = 0
    private var dataLeft = 0
    private var received = 0
    private var extensionBytes = 0
    private var trailers: FieldSectionScanner?

    /// Continues; `bytes` begin after the bytes that were consumed so far.
    ///
    /// A trailer section is consumed as a whole. Everything before it is consumed as it is read.
    mutating func next(
        _ bytes: Span<UInt8>, bodyBytesMax: Int, limits: WireLimits
    ) throws(WireError) -> Step {
        var position = 0
        while position < bytes.count {
            switch phase {
            case .size: try scanSize(in: bytes, at: &position, limits: limits)
            case .spaceBeforeExtension: try skipSpace(in: bytes, at: &position, limits: limits)
            case .extensions: try skipExtensions(in: bytes, at: &position, limits: limits)
            case .sizeLineFeed:
                try expect(.lineFeed, in: bytes, at: &position)
                try beginChunk(bodyBytesMax)
            case .data:
                let length = min(dataLeft, bytes.count - position)
                dataLeft -= length
                if dataLeft == 0 { phase = .dataReturn }
                return .data(framing: position, length: length)
            case .dataReturn:
                try expect(.carriageReturn, in: bytes, at: &position)
                phase = .dataLineFeed
            case .dataLineFeed:
                try expect(.lineFeed, in: bytes, at: &position)
                phase = .size
            case .trailers: return try scanTrailers(in: bytes, from: position, limits: limits)
            }
        }
        return .needsMore(framing: position)
    }

    /// `1*HEXDIG`. The digits are counted, so that leading zeros cannot go on without end.
    private mutating func scanSize(
        in bytes: Span<UInt8>, at position: inout Int, limits: WireLimits
    ) throws(WireError) {
        while position < bytes.count, let digit = bytes[position].hexDigitValue {
            sizeDigits += 1
            guard sizeDigits <= limits.chunkSizeDigitsMax, size <= Int.max >> 4 else {
                throw WireError(.malformedChunk)
            }
            size = size << 4 | Int(digit)
            position += 1
        }
        guard position < bytes.count else { return }
        guard sizeDigits > 0 else { throw WireError(.malformedChunk) }
        try endSize(bytes[position], &position)
    }

    private mutating func endSize(_ byte: UInt8, _ position: inout Int) throws(WireError) {
        switch byte {
        case .carriageReturn:
            position += 1
            phase = .sizeLineFeed
        case .space, .tab, UInt8(ascii: ";"):
            phase = .spaceBeforeExtension
        default:
            throw WireError(.malformedChunk)
        }
    }

    /// White space after the size is allowed only before extensions.
    private mutating func skipSpace(
        in bytes: Span<UInt8>, at position: inout Int, limits: WireLimits
    ) throws(WireError) {
        let end = bytes.endOfSpace(from: position, to: bytes.count)
        try countExtension(end - position, limits)
        position = end
        guard end < bytes.count else { return }
        guard bytes[end] == UInt8(ascii: ";") else { throw WireError(.malformedChunk) }
        phase = .extensions
    }

    /// Extensions are ignored, but the end of their line is checked: a bare CR or LF could hide a request from a proxy
    /// that takes it for the end.
    private mutating func skipExtensions(
        in bytes: Span<UInt8>, at position: inout Int, limits: WireLimits
    ) throws(WireError) {
        let end = bytes.endOfFieldContent(from: position, to: bytes.count)
        try countExtension(end - position, limits)
        position = end
        guard end < bytes.count else { return }
        try expect(.carriageReturn, in: bytes, at: &position)
        phase = .sizeLineFeed
    }

    private mutating func countExtension(_ count: Int, _ limits: WireLimits) throws(WireError) {
        extensionBytes += count
        guard extensionBytes <= limits.chunkExtensionBytesMax else { throw WireError(.chunkExtensionsTooLarge) }
    }

    /// Checks the limit of the body before the chunk's data arrive.
    private mutating func beginChunk(_ bodyBytesMax: Int) throws(WireError) {
        guard size <= bodyBytesMax - received else { throw WireError(.bodyTooLarge) }
        received += size
        dataLeft = size
        phase = size == 0 ? .trailers : .data
        size = 0
        sizeDigits = 0
    }

    private mutating func expect(
        _ byte: UInt8, in bytes: Span<UInt8>, at position: inout Int
    ) throws(WireError) {
        guard bytes[position] == byte else { throw WireError(.malformedChunk) }
        position += 1
    }

    private mutating func scanTrailers(
        in bytes: Span<UInt8>, from start: Int, limits: WireLimits
    ) throws(WireError) -> Step {
        var section = trailers ?? FieldSectionScanner(at: 0)
        defer { trailers = section }
        let sectionLimits = FieldSectionScanner.Limits(
            bytesMax: limits.trailerBytesMax, linesMax: limits.fieldsMax, tooLarge: .trailerTooLarge,
            tooMany: .trailerTooLarge)
        let sectionBytes = bytes.extracting(start...)
        while true {
            switch try section.next(sectionBytes, sectionLimits) {
            case .line: continue
            case .end: return .end(framing: start + section.position)
            case .needsMore: return .needsMore(framing: start)
            }
        }
    }
}
