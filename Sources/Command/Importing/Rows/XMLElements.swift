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
