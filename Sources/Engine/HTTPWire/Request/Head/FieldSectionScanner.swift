/// One field line, as positions from the start of its message.
struct FieldLine: Sendable {
    var name = 0..<0
    var value = 0..<0
    var field = RecognizedField.other
}

/// Finds the lines `name ":" OWS value OWS CRLF` of a header or trailer section, up to its empty line (RFC 9112 section
/// 5). Like the scanner of the request line, it can stop after any byte.
struct FieldSectionScanner {
    /// The limits of a section, and the errors for exceeding them.
    struct Limits {
        var bytesMax: Int
        var linesMax: Int
        var tooLarge: WireError.Reason
        var tooMany: WireError.Reason
    }

    enum Step {
        case line(FieldLine)
        case end
        case needsMore
    }

    private enum Phase {
        case lineStart, name, space, value, lineFeed, lastLineFeed
    }

    /// The position of the next byte to read.
    private(set) var position: Int
    private let start: Int
    private var phase = Phase.lineStart
    private var lineCount = 0
    private var partStart = 0
    private var line = FieldLine()

    init(at position: Int) {
        self.start = position
        self.position = position
    }

    /// Continues, up to the end of one line.
    mutating func next(_ bytes: Span<UInt8>, _ limits: borrowing Limits) throws(WireError) -> Step {
        let end = min(bytes.count, start + limits.bytesMax)
        while position < end {
            switch phase {
            case .lineStart: try scanLineStart(bytes[position], limits)
            case .name: try scanName(bytes, to: end)
            case .space: skipSpace(bytes, to: end)
            case .value: try scanValue(bytes, to: end)
            case .lineFeed:
                try expectLineFeed(bytes[position])
                phase = .lineStart
                return .line(line)
            case .lastLineFeed:
                try expectLineFeed(bytes[position])
                return .end
            }
        }
        guard position < start + limits.bytesMax else { throw WireError(limits.tooLarge) }
        return .needsMore
    }

    private mutating func scanLineStart(_ byte: UInt8, _ limits: borrowing Limits) throws(WireError) {
        if byte == .carriageReturn {
            position += 1
            phase = .lastLineFeed
            return
        }
        // RFC 9112 section 5.2: `obs-fold` is refused, as is white space before the first field (section 2.2).
        guard !byte.isSpaceOrTab else { throw WireError(.lineFolding) }
        lineCount += 1
        guard lineCount <= limits.linesMax else { throw WireError(limits.tooMany) }
        partStart = position
        phase = .name
    }

    /// The colon must follow the name directly: white space between them has led to request smuggling (RFC 9112 section
    /// 5.1).
    private mutating func scanName(_ bytes: Span<UInt8>, to end: Int) throws(WireError) {
        position = bytes.end(of: .token, from: position, to: end)
        guard position < end else { return }
        guard bytes[position] == UInt8(ascii: ":"), position > partStart else { throw WireError(.malformedField) }
        line.name = partStart..<position
        position += 1
        phase = .space
    }

    private mutating func skipSpace(_ bytes: Span<UInt8>, to end: Int) {
        position = bytes.endOfSpace(from: position, to: end)
        guard position < end else { return }
        partStart = position
        phase = .value
    }

    private mutating func scanValue(_ bytes: Span<UInt8>, to end: Int) throws(WireError) {
        position = bytes.endOfFieldContent(from: position, to: end)
        guard position < end else { return }
        guard bytes[position] == .carriageReturn else { throw WireError(.malformedField) }
        line.value = bytes.trimmingSpace(partStart..<position)
        position += 1
        phase = .lineFeed
    }

    /// A bare CR is refused. A bare LF is refused earlier: RFC 9112 section 2.2 allows it as a line's end, but two
    /// parsers that disagree about it enable request smuggling.
    private mutating func expectLineFeed(_ byte: UInt8) throws(WireError) {
        guard byte == .lineFeed else { throw WireError(.malformedField) }
        position += 1
    }
}
