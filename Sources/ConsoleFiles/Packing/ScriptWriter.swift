/// Writes tokens with as few spaces as they allow.
enum ScriptWriter {
    static func bytes(of tokens: [ScriptToken]) -> [UInt8] {
        var bytes: [UInt8] = []
        var last: ScriptToken?
        for token in joined(tokens) {
            if let last { bytes += space(between: last, and: token) }
            bytes += token.text.utf8
            last = token
        }
        return bytes
    }

    private static func space(between last: ScriptToken, and next: ScriptToken) -> String.UTF8View {
        if next.followsLineBreak, last.mayEndStatement, next.mayBeginStatement { return "\n".utf8 }
        guard let before = last.text.utf8.last, let after = next.text.utf8.first else { return "".utf8 }
        let isWord = before.isNamePart && after.isNamePart
        let isSign = before == after && (after == UInt8(ascii: "+") || after == UInt8(ascii: "-"))
        return (isWord || isSign ? " " : "").utf8
    }

    /// Without the `+` between two strings, which keeps lines of the source short.
    private static func joined(_ tokens: [ScriptToken]) -> [ScriptToken] {
        var joined: [ScriptToken] = []
        for (index, token) in tokens.enumerated() {
            let isPart = token.kind == .string && joined.count > 2 && joined[joined.count - 1].isMark("+")
                && joined[joined.count - 2].kind == .string && joined[joined.count - 3].mayPrecedeSum
                && joined[joined.count - 2].text.first == token.text.first
                && (index + 1 == tokens.count || tokens[index + 1].mayFollowSum)
            guard isPart else {
                joined.append(token)
                continue
            }
            joined.removeLast()
            joined[joined.count - 1].text.removeLast()
            joined[joined.count - 1].text += token.text.dropFirst()
        }
        return joined
    }
}

extension ScriptToken {
    /// Whether a line break after it may stand for a semicolon (ECMA-262, section 12.10).
    fileprivate var mayEndStatement: Bool { kind != .mark || [")", "]", "}", "++", "--"].contains(text) }

    fileprivate var mayBeginStatement: Bool {
        switch kind {
        case .mark: ["{", "++", "--", "!", "~"].contains(text)
        case .name, .privateName, .number, .string: true
        case .template, .regularExpression: false
        }
    }

    fileprivate var mayPrecedeSum: Bool {
        isName("return") || kind == .mark && ["(", "[", "{", ",", ":", "=", "=>", "?", "+"].contains(text)
    }

    fileprivate var mayFollowSum: Bool { kind == .mark && [",", ")", "]", "}", ";", ":", "+"].contains(text) }
}
