/// A secret that prints as `‹token›`, whichever way it gets into a text: interpolation, `print`, `dump`, a mirror.
protocol Unprintable: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Unprintable {
    public var description: String { "‹token›" }
    public var debugDescription: String { "‹token›" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
