/// Writes tokens as short as they allow.
enum ScriptWriter {
    static func bytes(of tokens: [ScriptToken]) -> [UInt8] {
        var bytes: [UInt8] = []
        var last: ScriptToken?
        for token in joined(shortened(tokens)) {
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

    /// With `let` for `const`, which does the same in a script that runs, and without marks that may be left out: the
    /// semicolon before a brace, and the brackets of a function's only parameter.
    private static func shortened(_ tokens: [ScriptToken]) -> [ScriptToken] {
        var shortened: [ScriptToken] = []
        shortened.reserveCapacity(tokens.count)
        var index = 0
        // Of each open bracket, whether it is that of a statement such as `while (…)`, whose body a semicolon may be.
        var heads: [Bool] = []
        var endsHead = false
        while index < tokens.count {
            var token = tokens[index]
            let rest = tokens[index...].dropFirst().prefix(3)
            if token.isMark("("), rest.count == 3, rest[index + 1].kind == .name, rest[index + 2].isMark(")"),
                rest[index + 3].isMark("=>")
            {
                token = ScriptToken(.name, rest[index + 1].text, followsLineBreak: token.followsLineBreak)
                index += 2
            } else if token.isName("const"), !rest.isEmpty, !rest[index + 1].isMark(":") {
                token.text = "let"
            }
            let isSpare = token.isMark(";") && rest.first?.isMark("}") == true && !endsHead
            if token.isMark("(") { heads.append(shortened.last?.beginsHead ?? false) }
            endsHead = token.isMark(")") && heads.popLast() ?? false
            if !isSpare { shortened.append(token) }
            index += 1
        }
        return shortened
    }

    /// Without the `+` between two strings, which keeps lines of the source short.
    private static func joined(_ tokens: [ScriptToken]) -> [ScriptToken] {
        var joined: [ScriptToken] = []
        for (index, token) in tokens.enumerated() {
            let isPart =
                token.kind == .string && joined.count > 2 && joined[joined.count - 1].isMark("+")
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
    fileprivate var beginsHead: Bool { kind == .name && ["for", "if", "while", "with"].contains(text) }

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
