/// A file of the page that cannot be packed. Tests pack all files, so it is never seen at run time.
struct PackingFault: Error, CustomStringConvertible {
    let path: String
    let reason: String

    var description: String { "\(path): \(reason)" }
}
