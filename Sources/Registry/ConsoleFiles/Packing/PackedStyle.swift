/// The style sheets as one, without comments and most spaces.
enum PackedStyle {
    /// - Parameter entry: the sheet that consists of `@import './…';` lines, in the order of the cascade.
    static func bytes(_ files: [ConsoleFile], entry: ConsoleFile) throws(PackingFault) -> [UInt8] {
        var packed = ""
        for path in imports(of: String(decoding: entry.bytes, as: UTF8.self)) {
            guard let file = files.first(where: { $0.path == path }) else {
                throw PackingFault(path: entry.path, reason: "there is no \(path)")
            }
            packed += compact(String(decoding: file.bytes, as: UTF8.self))
        }
        return Array(withShortProperties(packed).utf8)
    }

    /// Scripts do not use the custom properties.
    private static func withShortProperties(_ sheet: String) -> String {
        var short = ShortNames.ofVariables
        var names: [Substring: String] = [:]
        return sheet.replacing(/--[a-z][a-z0-9-]*/) { match in
            let name = names[match.output] ?? "--" + short.make()
            names[match.output] = name
            return name
        }
    }

    private static func imports(of sheet: String) -> [String] {
        sheet.matches(of: /@import '\.\/([^']+)';/).map { String($0.1) }
    }

    /// Strings of a sheet contain none of what is replaced, which a test holds.
    private static func compact(_ sheet: String) -> String {
        sheet.replacing(/\/\*(?:[^*]|\*(?!\/))*\*\//, with: "").replacing(/\s+/, with: " ")
            .replacing(/\s*([{};,])\s*/) { String($0.1) }.replacing(/:\s+/, with: ":").replacing(";}", with: "}")
            .trimmingPrefix(" ").description
    }
}
