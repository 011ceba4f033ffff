/// What a name in a script stands for.
enum NameUse {
    case variable
    /// A member of an object: `.count`, `count: 1`, a method, or a field of a class. It keeps its name.
    case member
    /// `{count}`: a member and the variable of its name.
    case both
}

/// Walks over the tokens of a module and finds what each name stands for, and which names can be the same variable.
///
/// It does not parse. What it relies on is true of the files of this page: a semicolon ends each statement, and no
/// label has the name of a variable.
struct NameUses {
    /// Of each token; nil if it is no name, or a keyword.
    private(set) var uses: [NameUse?] = []
    /// Of each token: the number of its statement of the module, or of its member of a class there. A variable that is
    /// not the module's is used in one unit only.
    private(set) var units: [Int] = []

    private enum Brackets { case round, square, block, object, classBody, template }

    private let tokens: [ScriptToken]
    private var open: [Brackets] = []
    private var classFollows = false
    private var unit = 0

    init(_ tokens: [ScriptToken]) {
        self.tokens = tokens
        let bodies = Self.bodies(in: tokens)
        uses.reserveCapacity(tokens.count)
        units.reserveCapacity(tokens.count)
        for index in tokens.indices {
            if beginsUnit(index) { unit += 1 }
            units.append(unit)
            uses.append(tokens[index].kind == .name ? use(at: index, bodies) : nil)
            track(index)
        }
    }

    private func text(at index: Int) -> String { tokens.indices.contains(index) ? tokens[index].text : "" }

    private func beginsUnit(_ index: Int) -> Bool {
        guard tokens[index].kind == .name || tokens[index].kind == .privateName else { return false }
        switch text(at: index - 1) {
        case "", ";", "}": return open.isEmpty || open == [.classBody]
        case "{": return open == [.classBody]
        default: return false
        }
    }

    /// The round brackets that a brace follows, as those of a method or a function.
    private static func bodies(in tokens: [ScriptToken]) -> Set<Int> {
        var (open, bodies) = ([Int](), Set<Int>())
        for (index, token) in tokens.enumerated() where token.kind == .mark {
            if token.text == "(" { open.append(index) }
            guard token.text == ")", let start = open.popLast() else { continue }
            if index + 1 < tokens.count, tokens[index + 1].isMark("{") { bodies.insert(start) }
        }
        return bodies
    }

    private func use(at index: Int, _ bodies: Set<Int>) -> NameUse? {
        let (before, after) = (text(at: index - 1), text(at: index + 1))
        if before == "." || before == "?." { return .member }
        let isFirst = before == "{" || before == ","
        if open.last == .object, isFirst, after == ":" { return .member }
        if ScriptVocabulary.keywords.contains(tokens[index].text) { return nil }
        if before != "function", before != "function*", bodies.contains(index + 1) { return .member }
        if open.last == .classBody, ["{", "}", ";", "static"].contains(before), after == "=" || after == ";" {
            return .member
        }
        return open.last == .object && isFirst && [",", "}", "="].contains(after) ? .both : .variable
    }

    // MARK: Brackets

    private mutating func track(_ index: Int) {
        let token = tokens[index]
        switch token.kind {
        case .template:
            if token.closesTemplatePart { _ = open.popLast() }
            if token.opensTemplatePart { open.append(.template) }
        case .mark:
            switch token.text {
            case "(": open.append(.round)
            case "[": open.append(.square)
            case "{": open.append(brace(at: index))
            case ")", "]", "}": _ = open.popLast()
            default: break
            }
        case .name where token.text == "class" && uses[index] == nil: classFollows = true
        default: break
        }
    }

    private mutating func brace(at index: Int) -> Brackets {
        if classFollows {
            classFollows = false
            return .classBody
        }
        let beforeBlocks: Set = ["", ")", "=>", "else", "try", "finally", "do", ";", "}", "{"]
        return beforeBlocks.contains(text(at: index - 1)) ? .block : .object
    }
}
