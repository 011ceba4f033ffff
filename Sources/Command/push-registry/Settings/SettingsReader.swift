import ArgumentParser
import Foundation
import PushRegistry
import StrictJSON

/// The source of a setting's value.
enum SettingSource: Hashable, Sendable {
    case flag(String)
    case variable(String)
    case file(String)
    case standard

    var text: String {
        switch self {
        case .flag(let name): name
        case .variable(let name): name
        case .file(let path): path
        case .standard: "default"
        }
    }
}

/// The settings as texts. Flags override environment variables, which override the file. Unknown names are errors:
/// otherwise a misspelt setting would silently keep its default.
struct SettingsReader: Sendable {
    private var values: [String: (text: String, source: SettingSource)] = [:]
    /// Warnings to log before anything is started.
    private(set) var warnings: [String] = []

    /// - Parameters:
    ///   - flags: values by setting name.
    ///   - file: the path of `--config`.
    /// - Throws: `ValidationError`.
    init(flags: [String: String], environment: [String: String], file: String?) throws {
        if let file { try read(file: file) }
        try read(environment)
        for (name, text) in flags {
            let flag = Setting.named(name)?.flag ?? name
            guard !text.isEmpty else { throw ValidationError("\(flag) requires a value. Omit it for the default.") }
            values[name] = (text, .flag(flag))
        }
    }

    /// Nil if the setting is not set.
    func string(_ name: String) -> String? { values[name]?.text }

    func source(_ name: String) -> SettingSource { values[name]?.source ?? .standard }

    // MARK: Environment

    /// An empty variable counts as absent, as in shells and unit files.
    private mutating func read(_ environment: [String: String]) throws {
        let entries = Dictionary(uniqueKeysWithValues: Setting.all.map { ($0.variable, $0) })
        for (variable, text) in environment.sorted(by: { $0.key < $1.key })
        where variable.hasPrefix(Setting.variablePrefix) && !text.isEmpty
            && !Self.isOfKubernetes(variable, text)
        {
            guard let entry = entries[variable] else {
                let prefix = Setting.variablePrefix
                let names = entries.keys.sorted().map { String($0.dropFirst(prefix.count)) }
                throw ValidationError(
                    "The environment variable \(variable) is not a setting. "
                        + Self.hint(String(variable.dropFirst(prefix.count)), among: names, prefix: prefix))
            }
            values[entry.name] = (text, .variable(variable))
        }
    }

    /// Whether the variable has the form that Kubernetes sets in every pod of a namespace with a Service whose name is
    /// `push-registry` or begins with `push-registry-`.
    private static func isOfKubernetes(_ variable: String, _ text: String) -> Bool {
        // Before each name, the Service's own suffix: PUSH_REGISTRY_DB_SERVICE_HOST.
        let names = /PUSH_REGISTRY_(.+_)?(SERVICE_(HOST|PORT(_.+)?)|PORT_[0-9]+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)/
        if variable.wholeMatch(of: names) != nil { return true }
        // `PORT` is a URL there. A number is a person's mistake.
        return variable.wholeMatch(of: /PUSH_REGISTRY_(.+_)?PORT/) != nil && text.contains("://")
    }

    // MARK: File

    private mutating func read(file path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ValidationError("\(path) cannot be read (--config).")
        }
        do throws(JSONFaults) {
            let document = try JSONDocument(Array(data))
            for (name, value) in document.root.object()?.members ?? [] where value.kind != .null {
                read(name, value, of: path)
            }
            try document.check()
        } catch {
            throw ValidationError(error.faults.map { Self.line($0, of: path) }.joined(separator: "\n"))
        }
        warnIfReadable(path)
    }

    private mutating func read(_ name: String, _ value: JSONValue, of path: String) {
        guard let entry = Setting.named(name) else {
            let hint = Self.hint(name, among: Setting.all.map(\.name))
            return value.refuse(.unknownMember, "\(name) is not a setting. \(hint)")
        }
        switch value.kind {
        case .string:
            guard let text = value.string(scalarsMax: 65_536) else { return }
            guard !text.isEmpty else {
                return value.refuse(.required, "This requires a value. Omit the member for the default.")
            }
            values[entry.name] = (text, .file(path))
        case .number: values[entry.name] = (String(decoding: value.rawBytes, as: UTF8.self), .file(path))
        default: value.refuse(.wrongType, "This must be a string or a number.")
        }
    }

    private static func line(_ fault: JSONFault, of path: String) -> String {
        let position = fault.offset.map { "byte \($0)" } ?? (fault.pointer.isEmpty ? "the document" : fault.pointer)
        return "\(path), \(position): \(fault.detail)"
    }

    private static func hint(_ text: String, among names: [String], prefix: String = "") -> String {
        guard let nearest = NearestName.of(text, among: names) else {
            return "`push-registry config` lists all settings."
        }
        return "Did you mean \(prefix)\(nearest)?"
    }

    private mutating func warnIfReadable(_ path: String) {
        let secrets = Setting.all.filter { $0.isSecret && source($0.name) == .file(path) }.map(\.name)
        let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? Int ?? 0
        guard !secrets.isEmpty, mode & 0o044 != 0 else { return }
        warnings.append(
            "\(path) contains \(secrets.joined(separator: " and ")), and other users can read it: chmod 600 \(path)")
    }
}

extension SettingsReader {
    /// For tests: settings without a source.
    init(_ values: [String: String]) {
        for (name, text) in values { self.values[name] = (text, .standard) }
    }

    /// The error of an invalid value.
    ///
    /// - Parameter expected: a description of valid values.
    func refusal(_ name: String, _ text: String, _ expected: String) -> ValidationError {
        let words = Setting.words(name, separator: " ")
        let setting =
            switch source(name) {
            case .standard: words
            case .flag(let flag): "\(words) (\(flag))"
            case .variable(let variable): variable
            case .file(let path): "\(name) (\(path))"
            }
        return ValidationError("The setting \(setting) must be \(expected), not \(text).")
    }
}
