/// Names of one letter, then of two, and so on. None is a keyword or a name of the browser.
struct ShortNames {
    private static let later = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")

    private let first: [Character]
    private var next = 0

    /// For the variables of functions.
    static var ofVariables: ShortNames { ShortNames("abcdefghijklmnopqrstuvwxyz") }
    /// For what modules declare. They never equal a name of the others.
    static var ofDeclarations: ShortNames { ShortNames("ABCDEFGHIJKLMNOPQRSTUVWXYZ$_") }

    private init(_ first: String) { self.first = Array(first) }

    mutating func make() -> String {
        while true {
            let name = name(next)
            next += 1
            if !ScriptVocabulary.keywords.contains(name), !ScriptVocabulary.platform.contains(name) { return name }
        }
    }

    private func name(_ number: Int) -> String {
        var name = String(first[number % first.count])
        var rest = number / first.count
        while rest > 0 {
            rest -= 1
            name.append(Self.later[rest % Self.later.count])
            rest /= Self.later.count
        }
        return name
    }
}
