import HTTPWire

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
