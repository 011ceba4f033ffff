import EventLoop
import HTTPApplication
import HTTPTypes
import HTTPWire
import StrictJSON

extension ServerRequest {
    /// The body of a JSON call.
    ///
    /// - Parameter other: another Content-Type that the call accepts.
    /// - Throws: 413 as `Problem`; 415 as `APIError` for a Content-Type other than JSON. A missing one is accepted.
    func jsonBody(orAs other: StaticString? = nil) throws -> [UInt8] {
        let body = try body
        guard let mediaType, !mediaType.equalsIgnoringCase("application/json") else { return body }
        if let other, mediaType.equalsIgnoringCase(other) { return body }
        throw APIError.unsupportedMediaType(
            ["application/json", other?.description].compactMap(\.self).joined(separator: ", "))
    }

    /// Parses the body of a JSON call, see `jsonBody`. A large one is parsed off the loop.
    func parsedJSON<Value: Sendable>(_ parse: @escaping @Sendable ([UInt8]) throws -> Value) async throws -> Value {
        let body = try jsonBody()
        return try await parsing(body.count) { try parse(body) }
    }

    /// The body of a call that takes a list, and the list's form.
    ///
    /// - Returns: a nil form if there is no Content-Type.
    /// - Throws: as `jsonBody`.
    func listBody() throws -> (body: [UInt8], form: ListForm?) {
        let body = try body
        guard let mediaType else { return (body, nil) }
        if mediaType.equalsIgnoringCase("application/json") { return (body, .array) }
        let names: [StaticString] = ["application/x-ndjson", "application/ndjson"]
        guard names.contains(where: { mediaType.equalsIgnoringCase($0) }) else {
            throw APIError.unsupportedMediaType("application/json, application/x-ndjson")
        }
        return (body, .lines)
    }

    /// A field of a form; nil if the body is not a form.
    ///
    /// - Throws: 413 as `Problem`; 400 as `APIError` if the field is missing, or as `WireError` if it is not encoded.
    func formField(_ name: String) throws -> String? {
        guard mediaType?.equalsIgnoringCase("application/x-www-form-urlencoded") == true else { return nil }
        for pair in try body.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard try PercentEncoding.decode(pair[..<end], plusIsSpace: true) == name else { continue }
            return try PercentEncoding.decode(pair[end...].dropFirst(), plusIsSpace: true)
        }
        throw APIError.invalidBody([
            JSONFault(pointer: "/\(name)", code: .required, detail: "The form needs this field.")
        ])
    }

    /// `Content-Type` without its parameters.
    private var mediaType: ArraySlice<UInt8>? {
        // RFC 9110, section 8.3.1: parameters follow a semicolon, perhaps with white space before it.
        head.bytes(of: .contentType)?
            .prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    }
}

/// Runs `work`, which parses this many bytes of JSON. If they are many, it runs off the loop, whose other requests
/// would wait.
func parsing<Value: Sendable>(
    _ byteCount: Int, _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    byteCount <= ParsingLimits.loopBytesMax ? try work() : try await offLoop { try work() }
}

enum ParsingLimits {
    /// Most bodies have a few KiB: moving to another thread and back would take longer than parsing them.
    static let loopBytesMax = 32 * 1_024
}

/// The form of a list in a body.
enum ListForm {
    /// A JSON array.
    case array
    /// One JSON text per line (NDJSON).
    case lines
}

extension ArraySlice<UInt8> {
    /// Compares with an ASCII name, ignoring case.
    ///
    /// - Parameter name: in lower case.
    func equalsIgnoringCase(_ name: StaticString) -> Bool {
        name.withUTF8Buffer { name in
            elementsEqual(name) { byte, letter in
                byte == letter || ((0x41...0x5A).contains(byte) && byte | 0x20 == letter)
            }
        }
    }
}
