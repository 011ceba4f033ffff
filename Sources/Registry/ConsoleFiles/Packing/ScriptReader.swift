/// Splits a script into tokens, without comments and spaces.
struct ScriptReader {
    /// After these words an expression begins, so `/` begins a regular expression.
    private static let wordsBeforeExpressions: Set<String> = ["case", "in", "of", "return", "typeof"]

    private let path: String
    private let bytes: [UInt8]
    private var position = 0
    private var followsLineBreak = true
    private var tokens: [ScriptToken] = []
    /// Whether each open brace belongs to a template.
    private var braces: [Bool] = []

    static func tokens(of file: ConsoleFile) throws(PackingFault) -> [ScriptToken] {
        var reader = ScriptReader(file)
        while try reader.skipSpaces() { try reader.readToken() }
        return reader.tokens
    }

    private init(_ file: ConsoleFile) {
        path = file.path
        bytes = file.bytes
    }

    private func fault(_ reason: String) -> PackingFault { PackingFault(path: path, reason: reason) }

    /// The byte at a distance from the position; zero after the end.
    private func byte(_ distance: Int) -> UInt8 {
        position + distance < bytes.count ? bytes[position + distance] : 0
    }

    private func begins(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
        byte(0) == UInt8(ascii: first) && byte(1) == UInt8(ascii: second)
    }

    // MARK: Spaces and comments

    /// - Returns: false at the end.
    private mutating func skipSpaces() throws(PackingFault) -> Bool {
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "\n") {
                followsLineBreak = true
                position += 1
            } else if bytes[position] == UInt8(ascii: " ") {
                position += 1
            } else if begins("/", "/") {
                position = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            } else if begins("/", "*") {
                try skipBlockComment()
            } else {
                return true
            }
        }
        return false
    }

    private mutating func skipBlockComment() throws(PackingFault) {
        while !begins("*", "/") {
            guard position < bytes.count else { throw fault("a comment does not end") }
            if bytes[position] == UInt8(ascii: "\n") { followsLineBreak = true }
            position += 1
        }
        position += 2
    }

    // MARK: Tokens

    private mutating func append(_ kind: ScriptToken.Kind, to end: Int) {
        let text = String(decoding: bytes[position..<end], as: UTF8.self)
        tokens.append(ScriptToken(kind, text, followsLineBreak: followsLineBreak))
        position = end
        followsLineBreak = false
    }

    private mutating func readToken() throws(PackingFault) {
        let first = bytes[position]
        switch first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): append(.string, to: try end(of: first, from: position + 1))
        case UInt8(ascii: "`"): try readTemplate()
        case UInt8(ascii: "}") where braces.last == true:
            braces.removeLast()
            try readTemplate()
        case UInt8(ascii: "#"): append(.privateName, to: endOfName(from: position + 1))
        case UInt8(ascii: "/") where expectsExpression: append(.regularExpression, to: try endOfRegularExpression())
        case let digit where digit.isDigit: append(.number, to: endOfNumber)
        case let letter where letter.isNamePart: append(.name, to: endOfWord)
        default: readMark()
        }
    }

    private mutating func readMark() {
        if bytes[position] == UInt8(ascii: "{") { braces.append(false) }
        if bytes[position] == UInt8(ascii: "}") { _ = braces.popLast() }
        append(.mark, to: position + markLength)
    }

    private var markLength: Int {
        let (first, second) = (Unicode.Scalar(byte(0)), Unicode.Scalar(byte(1)))
        let endsWithEqualSign = byte(2) == UInt8(ascii: "=")
        switch (first, second) {
        case (".", "."): return 3
        case ("=", ">"), ("?", "."), ("+", "+"), ("-", "-"): return 2
        case ("=", "="), ("!", "="), ("&", "&"), ("|", "|"), ("?", "?"), ("*", "*"): return endsWithEqualSign ? 3 : 2
        case ("+", "="), ("-", "="), ("*", "="), ("/", "="), ("%", "="), ("<", "="), (">", "="): return 2
        default: return 1
        }
    }

    private func endOfName(from start: Int) -> Int {
        bytes[start...].firstIndex { !$0.isNamePart } ?? bytes.count
    }

    /// The position after a name, a keyword, or `function*`.
    private var endOfWord: Int {
        let end = endOfName(from: position)
        let isGenerator =
            bytes[position..<end].elementsEqual("function".utf8) && end < bytes.count
            && bytes[end] == UInt8(ascii: "*")
        return isGenerator ? end + 1 : end
    }

    private var endOfNumber: Int {
        bytes[position...].firstIndex { !$0.isNamePart && $0 != UInt8(ascii: ".") } ?? bytes.count
    }

    /// The position after the quote that ends a string.
    private func end(of quote: UInt8, from start: Int) throws(PackingFault) -> Int {
        var index = start
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
            if bytes[index] == quote { return index + 1 }
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        throw fault("a string does not end")
    }

    private mutating func readTemplate() throws(PackingFault) {
        var index = position + 1
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "`") { return append(.template, to: index + 1) }
            if bytes[index] == UInt8(ascii: "$"), index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "{") {
                braces.append(true)
                return append(.template, to: index + 2)
            }
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        throw fault("a template does not end")
    }

    /// Whether a value must follow the last token, so that a slash does not divide.
    private var expectsExpression: Bool {
        guard let last = tokens.last else { return true }
        switch last.kind {
        case .mark: return ![")", "]", "}"].contains(last.text)
        case .name: return Self.wordsBeforeExpressions.contains(last.text)
        case .template: return last.opensTemplatePart
        case .privateName, .number, .string, .regularExpression: return false
        }
    }

    private func endOfRegularExpression() throws(PackingFault) -> Int {
        var index = position + 1
        var isInClass = false
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
            switch bytes[index] {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "["): isInClass = true
            case UInt8(ascii: "]"): isInClass = false
            case UInt8(ascii: "/") where !isInClass: return endOfName(from: index + 1)
            default: break
            }
            index += 1
        }
        throw fault("a regular expression does not end")
    }
}

extension UInt8 {
    var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    var isNamePart: Bool {
        isDigit || UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 && self < 0x80 || self == UInt8(ascii: "_")
            || self == UInt8(ascii: "$")
    }
}
