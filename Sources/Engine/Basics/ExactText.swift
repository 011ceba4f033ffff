import Glibc

/// A text that is compared by its UTF-8 bytes, as PostgreSQL compares texts.
///
/// `String` takes two spellings of one Unicode text for equal: `é` as one scalar, and as `e` with an accent. So a text
/// from outside that decides something, or that groups rows, is compared, hashed and sorted as this type.
public struct ExactText: Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public init(stringLiteral text: String) {
        self.text = text
    }

    public static func == (left: ExactText, right: ExactText) -> Bool {
        left.withBytes { left in
            right.withBytes { right in
                guard left.count == right.count, let first = left.baseAddress, let second = right.baseAddress else {
                    return left.isEmpty && right.isEmpty
                }
                return first == second || memcmp(first, second, left.count) == 0
            }
        }
    }

    public static func < (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        withBytes { hasher.combine(bytes: $0) }
        // As no byte of UTF-8, it separates the texts of a value that has several.
        hasher.combine(0xFF as UInt8)
    }

    /// A string of Swift lends its bytes without an allocation.
    @inline(__always)
    private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        text.utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
            ?? Array(text.utf8).withUnsafeBytes(body)
    }
}
