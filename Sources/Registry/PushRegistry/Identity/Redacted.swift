/// A secret that prints as `‹token›` everywhere: in interpolation, `print`, `dump` and a mirror.
protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    public var description: String { "‹token›" }
    public var debugDescription: String { "‹token›" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
