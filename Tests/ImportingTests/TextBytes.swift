@testable import Importing

/// Bytes in memory, one piece after the other.
final class TextBytes: ByteSource {
    private var pieces: [[UInt8]]

    init(_ text: String) {
        pieces = [Array(text.utf8)].filter { !$0.isEmpty }
    }

    /// - Parameter bytes: of each piece.
    init(_ content: [UInt8], pieceBytes: Int) {
        pieces = stride(from: 0, to: content.count, by: pieceBytes).map {
            Array(content[$0..<min($0 + pieceBytes, content.count)])
        }
    }

    func read() -> [UInt8]? { pieces.isEmpty ? nil : pieces.removeFirst() }
}
