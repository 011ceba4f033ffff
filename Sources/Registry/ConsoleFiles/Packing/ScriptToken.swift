/// A token of a script (ECMA-262, section 12), as far as packing tells them apart.
struct ScriptToken {
    enum Kind {
        /// An identifier or a keyword.
        case name
        /// `#count`
        case privateName
        case number
        case string
        /// A part of a template: from its start or a `}`, to its end or a `${`.
        case template
        case regularExpression
        case mark
    }

    var kind: Kind
    var text: String
    /// Whether a line break is before it, which may end a statement.
    var followsLineBreak: Bool

    init(_ kind: Kind, _ text: String, followsLineBreak: Bool = false) {
        self.kind = kind
        self.text = text
        self.followsLineBreak = followsLineBreak
    }

    func isMark(_ text: String) -> Bool { kind == .mark && self.text == text }
    func isName(_ text: String) -> Bool { kind == .name && self.text == text }

    var opensTemplatePart: Bool { kind == .template && text.hasSuffix("${") }
    var closesTemplatePart: Bool { kind == .template && text.hasPrefix("}") }
}

/// The names that scripts of this page may use but not give.
enum ScriptVocabulary {
    /// Keywords, also those that are keywords only at some places. The words that begin a generator are one token.
    static let keywords: Set<String> = [
        "arguments", "as", "async", "await", "break", "case", "catch", "class", "const", "constructor", "continue",
        "debugger", "default", "delete", "do", "else", "enum", "export", "extends", "false", "finally", "for", "from",
        "function", "function*", "get", "if", "import", "in", "instanceof", "let", "new", "null", "of", "return", "set",
        "static", "super", "switch", "this", "throw", "true", "try", "typeof", "undefined", "var", "void", "while",
        "with", "yield",
    ]

    /// The names of `globalThis` that the scripts contain. A test compares this list with a browser.
    static let platform: Set<String> = [
        "AbortController", "AbortSignal", "Array", "Blob", "Boolean", "CustomEvent", "Date", "Error", "Event",
        "EventTarget", "HTMLElement", "History", "Infinity", "Intl", "JSON", "Map", "Math", "Number", "Object",
        "Promise", "Screen", "Set", "String", "SyntaxError", "TextEncoder", "TypeError", "URL", "Uint16Array",
        "Uint8Array", "WeakMap", "XMLSerializer", "addEventListener", "clearInterval", "clearTimeout", "close",
        "crypto", "customElements", "decodeURIComponent", "document", "encodeURIComponent", "event", "fetch",
        "globalThis", "history", "length", "localStorage", "location", "main", "name", "navigator", "onchange",
        "onclick", "open", "parent", "print", "screen", "scrollTo", "sessionStorage", "setInterval", "setTimeout",
        "status", "structuredClone", "when",
    ]
}
