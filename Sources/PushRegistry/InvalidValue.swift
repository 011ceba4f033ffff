/// Why a value of the domain cannot be made of what was given. Says what is expected, never what was sent.
public struct InvalidValue: Error, Hashable, Sendable {
    /// For programs: stable, kebab-case.
    public let code: String
    /// For people.
    public let detail: String

    public init(code: String, detail: String) {
        self.code = code
        self.detail = detail
    }
}
