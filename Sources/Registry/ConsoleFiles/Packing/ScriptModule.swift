/// A module of the page, whose imports and exports are resolved.
///
/// Modules write `import {a, b as c} from './d.js'`, `import './d.js'`, and `export` before a declaration.
struct ScriptModule {
    struct Import {
        let path: String
        let name: String
    }

    let path: String
    /// The modules that it imports, in order.
    private(set) var dependencies: [String] = []
    /// By the name that the module uses.
    private(set) var imports: [String: Import] = [:]
    /// The variables, functions and classes of the module itself.
    private(set) var declared: Set<String> = []
    /// Without imports and exports.
    private(set) var tokens: [ScriptToken] = []

    init(_ file: ConsoleFile) throws(PackingFault) {
        path = file.path
        let tokens = try ScriptReader.tokens(of: file)
        var (index, depth) = (0, 0)
        var isInDeclaration = false
        while index < tokens.count {
            let token = tokens[index]
            if depth == 0, token.isName("import") {
                index = try readImport(tokens, from: index + 1)
                continue
            }
            depth += Self.depth(of: token)
            if depth == 0, token.isMark(";") { isInDeclaration = false }
            if depth == 0, token.kind == .name {
                if token.text == "const" || token.text == "let" { isInDeclaration = true }
                let before = self.tokens.last?.text ?? ""
                let isDeclared = ["const", "let", "function", "function*", "class"].contains(before)
                if isDeclared || isInDeclaration && before == "," { declared.insert(token.text) }
            }
            if depth > 0 || !token.isName("export") { self.tokens.append(token) }
            index += 1
        }
    }

    private static func depth(of token: ScriptToken) -> Int {
        switch token.kind {
        case .template: (token.opensTemplatePart ? 1 : 0) - (token.closesTemplatePart ? 1 : 0)
        case .mark where ["(", "[", "{"].contains(token.text): 1
        case .mark where [")", "]", "}"].contains(token.text): -1
        default: 0
        }
    }

    /// - Returns: the index after the statement.
    private mutating func readImport(_ tokens: [ScriptToken], from start: Int) throws(PackingFault) -> Int {
        guard let end = tokens[start...].firstIndex(where: { $0.isMark(";") }), tokens[end - 1].kind == .string else {
            throw PackingFault(path: path, reason: "an import has another form")
        }
        let target = resolved(String(tokens[end - 1].text.dropFirst().dropLast()))
        dependencies.append(target)
        let names = tokens[start..<end].prefix { !$0.isName("from") }.filter { $0.kind == .name }.map(\.text)
        var rest = names[...]
        while let name = rest.popFirst() {
            var local = name
            if rest.first == "as" {
                rest.removeFirst()
                local = rest.popFirst() ?? name
            }
            imports[local] = Import(path: target, name: name)
        }
        return end + 1
    }

    /// The path of a relative import.
    private func resolved(_ reference: String) -> String {
        var parts = path.split(separator: "/").dropLast()
        for part in reference.split(separator: "/") where part != "." {
            if part == ".." { parts = parts.dropLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }
}
