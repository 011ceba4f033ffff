/// Scripts and style sheets as browsers get them: without comments and indentation, which take a quarter of the bytes.
///
/// Only whole lines of comments are removed, so nothing has to be parsed. No text of the console's files spans lines,
/// which a test holds.
enum CompactSource {
    static func bytes(of file: [UInt8]) -> [UInt8] {
        var compact: [UInt8] = []
        compact.reserveCapacity(file.count)
        var isInComment = false
        for line in file.split(separator: UInt8(ascii: "\n")) {
            let text = line.drop { $0 == UInt8(ascii: " ") }
            if isInComment || text.starts(with: "/*".utf8) {
                isInComment = !text.endsComment
            } else if !text.isEmpty, !text.starts(with: "//".utf8) {
                compact += text
                compact.append(UInt8(ascii: "\n"))
            }
        }
        return compact
    }
}

extension ArraySlice<UInt8> {
    fileprivate var endsComment: Bool { suffix(2).elementsEqual("*/".utf8) }
}
