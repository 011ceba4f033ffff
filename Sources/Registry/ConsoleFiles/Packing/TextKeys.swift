/// Gives short names to the keys of texts, such as `'panel.retry'`, that scripts always name as a whole.
///
/// A key is a quoted member with a dot. It keeps its name if a template, such as `` `panel.${name}` ``, may make it.
struct TextKeys {
    /// What a template with one value begins and ends with; of one with more values, only the beginning counts.
    private struct Pattern {
        let beginning: String
        let end: String

        func mayMake(_ key: String) -> Bool { key.hasPrefix(beginning) && key.hasSuffix(end) }
    }

    /// By the quoted key.
    private let names: [String: String]

    init(_ tokens: [ScriptToken]) {
        let keys = Set(tokens.indices.filter { Self.isMember($0, in: tokens) }.map { tokens[$0].text })
        let patterns = Self.patterns(in: tokens)
        var counts: [String: Int] = [:]
        for (index, token) in tokens.enumerated() where token.kind == .string && keys.contains(token.text) {
            if !Self.isMember(index, in: tokens) { counts[token.text, default: 0] += 1 }
        }
        let free = counts.filter { key, _ in
            let text = String(key.dropFirst().dropLast())
            return !patterns.contains { $0.mayMake(text) }
        }
        var short = ShortNames.ofVariables
        var names: [String: String] = [:]
        for (key, _) in free.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) { names[key] = short.make() }
        self.names = names
    }

    /// The tokens with the short names.
    func applied(to tokens: [ScriptToken]) -> [ScriptToken] {
        tokens.enumerated().map { index, token in
            guard token.kind == .string, let name = names[token.text] else { return token }
            var token = token
            let isMember = Self.isMember(index, in: tokens)
            token.kind = isMember ? .name : .string
            token.text = isMember ? name : "'\(name)'"
            return token
        }
    }

    private static func isMember(_ index: Int, in tokens: [ScriptToken]) -> Bool {
        guard tokens[index].kind == .string, tokens[index].text.contains("."), index > 0, index + 1 < tokens.count
        else { return false }
        return tokens[index + 1].isMark(":") && (tokens[index - 1].isMark("{") || tokens[index - 1].isMark(","))
    }

    private static func patterns(in tokens: [ScriptToken]) -> [Pattern] {
        tokens.indices.compactMap { index in
            let token = tokens[index]
            guard token.opensTemplatePart, !token.closesTemplatePart, token.text.contains(".") else { return nil }
            let beginning = String(token.text.dropFirst().dropLast(2))
            let next = tokens[(index + 1)...].first { $0.kind == .template }
            guard let next, next.closesTemplatePart, !next.opensTemplatePart else {
                return Pattern(beginning: beginning, end: "")
            }
            return Pattern(beginning: beginning, end: String(next.text.dropFirst().dropLast()))
        }
    }
}
