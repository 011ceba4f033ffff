/// Why a text or number is not a valid value of the domain. It says what is expected and never quotes the input.
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
