/// Finds the parts of `method SP request-target SP HTTP-version CRLF` (RFC 9112 section 3).
///
/// It can stop after any byte and continue later. A slow client's bytes are thus read only once, and a wrong byte is
/// refused when it arrives. Positions count from the start of the request.
///
/// Parts are separated by exactly one SP: section 3 allows lenience, and warns of its consequences.
struct RequestLineScanner {
    private enum Phase {
        case emptyLines, emptyLineFeed, method, target, version, lineFeed
    }

    private(set) var method = 0..<0
    private(set) var target = 0..<0
    private(set) var version = HTTPVersion.http11
    private(set) var position = 0

    /// Whether no byte of the request itself has arrived.
    var isBlank: Bool { phase == .emptyLines || phase == .emptyLineFeed }

    private var phase = Phase.emptyLines
    private var start = 0
    private var emptyLines = 0

    /// Continues. Returns true once the line is complete; `position` is then after it.
    mutating func scan(_ bytes: Span<UInt8>, limits: WireLimits) throws(WireError) -> Bool {
        while position < bytes.count {
            switch phase {
            case .emptyLines: try scanEmptyLine(bytes, limits)
            case .emptyLineFeed: try expectLineFeed(bytes, then: .emptyLines)
            case .method: try scanMethod(bytes, limits)
            case .target: try scanTarget(bytes, limits)
            case .version: try scanVersion(bytes)
            case .lineFeed:
                try expectLineFeed(bytes, then: .lineFeed)
                return true
            }
        }
        return false
    }

    /// A server should ignore at least one empty line here (RFC 9112 section 2.2).
    private mutating func scanEmptyLine(_ bytes: Span<UInt8>, _ limits: WireLimits) throws(WireError) {
        guard bytes[position] == .carriageReturn else {
            return enter(.method)
        }
        emptyLines += 1
        guard emptyLines <= limits.leadingEmptyLinesMax else { throw WireError(.tooManyEmptyLines) }
        position += 1
        phase = .emptyLineFeed
    }

    private mutating func scanMethod(_ bytes: Span<UInt8>, _ limits: WireLimits) throws(WireError) {
        let end = start + limits.methodBytesMax
        position = bytes.end(of: .token, from: position, to: min(end + 1, bytes.count))
        guard position <= end else { throw WireError(.methodTooLong) }
        guard position < bytes.count else { return }
        guard bytes[position] == .space, position > start else { throw WireError(.malformedRequestLine) }
        method = start..<position
        position += 1
        enter(.target)
    }

    private mutating func scanTarget(_ bytes: Span<UInt8>, _ limits: WireLimits) throws(WireError) {
        let end = start + limits.targetBytesMax
        position = bytes.end(of: .target, from: position, to: min(end + 1, bytes.count))
        guard position <= end else { throw WireError(.targetTooLong) }
        guard position < bytes.count else { return }
        guard position > start, bytes[position] != .carriageReturn else { throw WireError(.malformedRequestLine) }
        guard bytes[position] == .space else { throw WireError(.invalidTarget) }
        target = start..<position
        position += 1
        enter(.version)
    }

    private mutating func scanVersion(_ bytes: Span<UInt8>) throws(WireError) {
        let end = start + HTTPVersion.byteCount
        while position < min(end, bytes.count), bytes[position] > .space { position += 1 }
        guard position < bytes.count else { return }
        guard bytes[position] == .carriageReturn, position == end else { throw WireError(.malformedRequestLine) }
        version = try HTTPVersion(parsing: bytes.extracting(start..<end))
        position += 1
        phase = .lineFeed
    }

    private mutating func expectLineFeed(_ bytes: Span<UInt8>, then next: Phase) throws(WireError) {
        guard bytes[position] == .lineFeed else { throw WireError(.malformedRequestLine) }
        position += 1
        phase = next
    }

    private mutating func enter(_ next: Phase) {
        phase = next
        start = position
    }
}
