import Foundation
import PushRegistry

#if canImport(FoundationXML)
import FoundationXML
#endif

/// A line of XML: one element that has elements with texts.
struct XMLElements {
    /// The name of the outer element, without its namespace.
    static let root: FieldPath = "RegistrationKind"

    private var texts: [String: String] = [:]

    subscript(name: String) -> String? { texts[name] }

    /// - Throws: `ImportFaults` if the line is not XML, or has a document type: those can include files.
    init(_ line: ArraySlice<UInt8>) throws(ImportFaults) {
        guard !Self.hasDocumentType(line) else {
            throw ImportFaults([ImportFault(code: "document-type", "A document type is not allowed.")])
        }
        let reader = Reader()
        let parser = XMLParser(data: Data(line))
        parser.shouldResolveExternalEntities = false
        parser.delegate = reader
        // The parser does not report every text that ends too early.
        guard parser.parse(), reader.isComplete, let root = reader.root else { throw .unfinishedXML }
        texts = reader.texts
        texts[Self.root.text] = root
    }

    private static let documentType = Array("<!doctype".utf8)

    /// In any case: the bit 0x20 is the case of a letter.
    private static func hasDocumentType(_ line: ArraySlice<UInt8>) -> Bool {
        line.indices.contains { start in
            line[start] == documentType[0]
                && line[start...].prefix(documentType.count).elementsEqual(documentType) { $0 | 0x20 == $1 | 0x20 }
        }
    }

    private final class Reader: NSObject, XMLParserDelegate {
        var root: String?
        var texts: [String: String] = [:]
        private var depth = 0
        private var text = ""

        /// Whether all elements are closed.
        var isComplete: Bool { depth == 0 }

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            depth += 1
            if depth == 1 { root = Self.local(name) }
            text = ""
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

        func parser(_ parser: XMLParser, foundCDATA block: Data) { text += String(decoding: block, as: UTF8.self) }

        func parser(
            _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
        ) {
            if depth == 2 { texts[Self.local(name)] = text.trimmingSpaces() }
            depth -= 1
            text = ""
        }

        private static func local(_ name: String) -> String {
            name.split(separator: ":").last.map(String.init) ?? name
        }
    }
}

extension ImportFaults {
    fileprivate static let unfinishedXML = ImportFaults([
        ImportFault(code: "malformed-xml", "The line is not one XML element.")
    ])

    /// Whether the line may be the beginning of a longer one.
    var isOfUnfinishedXML: Bool { self == .unfinishedXML }
}

/// Cuts a file with one XML element a line. A text between `<![CDATA[` and `]]>` may have line ends.
enum XMLLine {
    static func cut(
        _ bytes: ArraySlice<UInt8>, isEnd: Bool
    ) throws(ImportFaults) -> RecordCutter.Cut<ArraySlice<UInt8>>? {
        let end = bytes.firstIndexOutsideTexts { bytes[$0] == UInt8(ascii: "\n") }
        guard end != nil || isEnd else { return nil }
        let line = bytes[..<(end ?? bytes.endIndex)]
        let text = line.drop(while: isSpace)
        return RecordCutter.Cut(
            content: text.isEmpty || isDeclaration(text) ? nil : line, byteCount: line.count + (end == nil ? 0 : 1),
            lineCount: line.lineCount + 1)
    }

    /// Tools put `<?xml version="1.0"?>` before the first element. Other elements may follow in the same line.
    private static func isDeclaration(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.starts(with: Array("<?xml".utf8)), let end = text.firstIndex(of: UInt8(ascii: ">")) else {
            return false
        }
        return text[(end + 1)...].allSatisfy(isSpace)
    }

    fileprivate static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }
}

/// Cuts Atom feeds (RFC 4287) into the contents of their entries: Azure lists registrations so. A file may have
/// several, one after the other.
struct XMLFeed {
    private static let opening = Array("<content".utf8)
    private static let closing = Array("</content>".utf8)

    /// `</feed>`, or `</entry>` if the file has one entry.
    private let end: [UInt8]
    /// Whether the text so far is whole.
    private(set) var isComplete = false

    /// Nil for other XML.
    ///
    /// - Parameter head: the first bytes of the file.
    init?(_ head: ArraySlice<UInt8>) {
        var rest = head.drop { $0 != UInt8(ascii: "<") }
        while rest.starts(with: Array("<?".utf8)) {
            rest = rest.dropFirst().drop { $0 != UInt8(ascii: "<") }
        }
        let name = rest.dropFirst().prefix { !XMLLine.isSpace($0) && $0 != UInt8(ascii: ">") }
        guard ["feed", "entry"].contains(where: { name.elementsEqual($0.utf8) }) else { return nil }
        end = Array("</".utf8) + name + Array(">".utf8)
    }

    /// For `RecordCutter.next`.
    mutating func cut(
        _ bytes: ArraySlice<UInt8>, isEnd: Bool
    ) throws(ImportFaults) -> RecordCutter.Cut<ArraySlice<UInt8>>? {
        guard bytes.starts(with: Self.opening) else {
            let gap = bytes.firstIndexOutsideTexts { bytes[$0...].starts(with: Self.opening) }.map { bytes[..<$0] }
            guard let gap = gap ?? (isEnd ? bytes : nil) else { return nil }
            isComplete = isComplete || gap.firstIndexOutsideTexts { gap[$0...].starts(with: end) } != nil
            return RecordCutter.Cut(content: nil, byteCount: gap.count, lineCount: gap.lineCount)
        }
        isComplete = false
        let closing = bytes.firstIndexOutsideTexts { bytes[$0...].starts(with: Self.closing) }
        guard closing != nil || isEnd else { return nil }
        let element = bytes[..<(closing.map { $0 + Self.closing.count } ?? bytes.endIndex)]
        let content = bytes[..<(closing ?? bytes.endIndex)].drop { $0 != UInt8(ascii: ">") }.dropFirst()
        return RecordCutter.Cut(content: content, byteCount: element.count, lineCount: element.lineCount)
    }
}

extension ArraySlice<UInt8> {
    /// The first index that fits, and is not within `<![CDATA[` and `]]>`.
    fileprivate func firstIndexOutsideTexts(where fits: (Int) -> Bool) -> Int? {
        var isText = false
        for at in indices {
            switch self[at] {
            case UInt8(ascii: "<") where !isText && self[at...].starts(with: "<![CDATA[".utf8): isText = true
            case UInt8(ascii: "]") where isText && self[at...].starts(with: "]]>".utf8): isText = false
            case _ where !isText && fits(at): return at
            default: continue
            }
        }
        return nil
    }
}
