extension ConsoleFile {
    /// The files as browsers get them: the page, one script, one style sheet, and what else there is.
    ///
    /// - Throws: if a script or a style sheet has a form that packing does not know. Tests pack all files.
    public static func packed(_ files: [ConsoleFile] = all) throws -> [ConsoleFile] {
        try files.filter(\.isServed).map { file in
            switch file.path {
            case "app.js": ConsoleFile(path: file.path, bytes: try ScriptBundle(files, entry: file.path).bytes())
            case "style.css": ConsoleFile(path: file.path, bytes: try PackedStyle.bytes(files, entry: file))
            default: file
            }
        }
    }

    /// Whether browsers get a file of this path. The other scripts and style sheets are parts of it.
    public var isServed: Bool {
        path == "app.js" || path == "style.css" || !path.hasSuffix(".js") && !path.hasSuffix(".css")
    }
}
