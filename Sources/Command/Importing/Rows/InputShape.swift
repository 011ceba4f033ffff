import Foundation

/// How a file is split into rows.
package enum InputShape: Hashable, Sendable {
    /// One JSON object a line.
    case lines
    /// An array of objects, pages of a list, or objects that take several lines.
    case elements
    /// CSV with a header.
    case table
    /// One XML element a line.
    case xml

    /// How many bytes are looked at.
    static let peekBytes = 64 * 1_024

    /// By the first bytes. Nil for a file that is empty.
    ///
    /// - Parameter elements: of the format, or of all formats.
    init?(_ bytes: ArraySlice<UInt8>, _ elements: ElementSplitter) {
        var rest = bytes
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        rest = rest.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        switch rest.first {
        case nil: return nil
        case UInt8(ascii: "<"): self = .xml
        case UInt8(ascii: "["): self = .elements
        case UInt8(ascii: "{"):
            let line = rest.prefix { $0 != UInt8(ascii: "\n") }
            let isCut = line.endIndex < rest.endIndex && elements.isIncomplete(line)
            self = isCut || elements.isOuter(rest) ? .elements : .lines
        default: self = .table
        }
    }

    /// The value of `--format`, or the extension of a file's name; nil for others.
    package init?(name: String) {
        switch name {
        case "ndjson", "jsonl": self = .lines
        case "csv": self = .table
        default: return nil
        }
    }
}
