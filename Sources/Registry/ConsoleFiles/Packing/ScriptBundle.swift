/// The modules of the page as one script, with short names for variables and the keys of texts, and without comments
/// and spaces.
///
/// One file compresses to three quarters of many small ones, and one round trip loads it.
struct ScriptBundle {
    private let modules: [ScriptModule]

    /// - Parameter entry: the module that imports all others, directly or not. Modules are run in the order that
    ///   ECMA-262 prescribes: each after those that it imports.
    init(_ files: [ConsoleFile], entry: String) throws(PackingFault) {
        let files = Dictionary(files.map { ($0.path, $0) }) { first, _ in first }
        var modules: [ScriptModule] = []
        var visited: Set<String> = []
        func visit(_ path: String, from importer: String) throws(PackingFault) {
            guard visited.insert(path).inserted else { return }
            guard let file = files[path] else { throw PackingFault(path: importer, reason: "there is no \(path)") }
            let module = try ScriptModule(file)
            for dependency in module.dependencies { try visit(dependency, from: path) }
            modules.append(module)
        }
        try visit(entry, from: entry)
        let declared = Set(modules.flatMap { module in module.declared.map { module.declaration(of: $0) } })
        for module in modules {
            if let lost = module.imports.keys.first(where: { !declared.contains(module.declaration(of: $0)) }) {
                throw PackingFault(path: module.path, reason: "\(lost) is not declared where it is imported from")
            }
        }
        self.modules = modules
    }

    func bytes() -> [UInt8] {
        let declarations = declarationNames()
        var privates: [String: String] = [:]
        var privateNames = ShortNames.ofVariables
        var written: [ScriptToken] = []
        for module in modules {
            let names = NameUses(module.tokens)
            var variables = VariableNames()
            for (index, token) in module.tokens.enumerated() {
                if token.kind == .privateName, privates[token.text] == nil {
                    privates[token.text] = "#" + privateNames.make()
                }
                guard let use = names.uses[index], use != .member else {
                    written.append(token.renamed(to: privates[token.text] ?? token.text))
                    continue
                }
                let name =
                    declarations[module.declaration(of: token.text)]
                    ?? variables.name(for: token.text, in: names.units[index])
                if use == .both, name != token.text { written += [token, ScriptToken(.mark, ":")] }
                written.append(token.renamed(to: name))
            }
        }
        return ScriptWriter.bytes(of: TextKeys(written).applied(to: written))
    }

    /// A variable, function or class of a module.
    struct Declaration: Hashable {
        let path: String
        let name: String
    }

    /// The short names of what modules declare. Often used ones are shorter.
    private func declarationNames() -> [Declaration: String] {
        var counts: [Declaration: Int] = [:]
        for module in modules {
            for name in module.declared { counts[Declaration(path: module.path, name: name), default: 0] += 1 }
            for token in module.tokens where token.kind == .name {
                let declaration = module.declaration(of: token.text)
                if declaration.path != module.path || module.declared.contains(token.text) {
                    counts[declaration, default: 0] += 1
                }
            }
        }
        let sorted = counts.sorted { ($1.value, $0.key.path, $0.key.name) < ($0.value, $1.key.path, $1.key.name) }
        var short = ShortNames.ofDeclarations
        var names: [Declaration: String] = [:]
        for (declaration, _) in sorted {
            let isFixed = ScriptVocabulary.platform.contains(declaration.name)
            names[declaration] = isFixed ? declaration.name : short.make()
        }
        return names
    }
}

extension ScriptModule {
    /// What a variable of this name is, if it is none of a function.
    fileprivate func declaration(of name: String) -> ScriptBundle.Declaration {
        guard let source = imports[name] else { return ScriptBundle.Declaration(path: path, name: name) }
        return ScriptBundle.Declaration(path: source.path, name: source.name)
    }
}

/// The short names of the variables in a unit, in the order in which they occur.
private struct VariableNames {
    private var unit = 0
    private var short = ShortNames.ofVariables
    private var names: [String: String] = [:]

    mutating func name(for variable: String, in unit: Int) -> String {
        if unit != self.unit { self = VariableNames(unit: unit) }
        if ScriptVocabulary.platform.contains(variable) { return variable }
        if let name = names[variable] { return name }
        let name = short.make()
        names[variable] = name
        return name
    }

    init(unit: Int = 0) { self.unit = unit }
}

extension ScriptToken {
    fileprivate func renamed(to name: String) -> ScriptToken {
        var token = self
        token.text = name
        return token
    }
}
