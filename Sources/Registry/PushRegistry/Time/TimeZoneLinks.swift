import Basics
import Foundation

/// Resolves alias names of time zones by the links of tzdata.
///
/// A name in `zone.tab` is kept even if it is a link: that table has a zone for every country and its cities. So
/// `Europe/Oslo` stays, although it links to `Europe/Berlin`, and `Asia/Calcutta` becomes `Asia/Kolkata`.
public struct TimeZoneLinks: Sendable {
    /// The location of tzdata on Linux.
    public static let systemDirectory = "/usr/share/zoneinfo"

    /// The names to replace, each with the end of its chain of links.
    private let targets: [ExactText: String]
    private let names: Set<ExactText>
    /// The first line of tzdata's file, which names its version.
    public let version: String

    /// Names in the folder of tzdata that are no zones: they depend on the machine, or mean that nothing was set.
    package static let notZones: Set = ["localtime", "posixrules", "Factory"]

    /// - Parameters:
    ///   - zones: the text of `tzdata.zi`: lines `Z name …` and `L target name` (zic(8)).
    ///   - table: the text of `zone.tab`: lines of country, coordinates and name, tab-separated.
    public init(zones: String, table: String) {
        version = String(zones.prefix { !$0.isNewline })
        let cities = Set(Self.tableNames(table))
        let (zoneNames, links) = Self.parse(zones)
        let all = cities.union(zoneNames).union(links.keys).subtracting(Self.notZones)
        names = Set(all.map { ExactText($0) })
        targets = links.reduce(into: [:]) { targets, link in
            guard !cities.contains(link.key) else { return }
            targets[ExactText(link.key)] = Self.end(of: link.value, links: links, cities: cities)
        }
    }

    /// Reads `tzdata.zi` and `zone.tab`. Blocks the thread.
    ///
    /// - Throws: Foundation's error if a file cannot be read.
    public init(directory: String = systemDirectory) throws {
        let folder = URL(filePath: directory, directoryHint: .isDirectory)
        self.init(
            zones: try String(contentsOf: folder.appending(path: "tzdata.zi"), encoding: .utf8),
            table: try String(contentsOf: folder.appending(path: "zone.tab"), encoding: .utf8))
    }

    /// The zone's canonical name; an unknown name is returned unchanged.
    public func resolve(_ name: String) -> String {
        targets[ExactText(name)] ?? name
    }

    /// Whether tzdata has the name as a zone or as a link to one.
    public func isKnown(_ name: String) -> Bool {
        names.contains(ExactText(name))
    }

    private static func tableNames(_ table: String) -> [String] {
        lines(table).compactMap { line in
            let columns = line.split(separator: "\t")
            return columns.count >= 3 ? String(columns[2]) : nil
        }
    }

    private static func parse(_ zones: String) -> (names: Set<String>, links: [String: String]) {
        var names: Set<String> = []
        var links: [String: String] = [:]
        for line in lines(zones) {
            let fields = line.split(separator: " ")
            switch fields.first {
            case "Z" where fields.count > 1: names.insert(String(fields[1]))
            case "L" where fields.count > 2: links[String(fields[2])] = String(fields[1])
            default: continue
            }
        }
        return (names, links)
    }

    private static func lines(_ text: String) -> [Substring] {
        text.split { $0.isNewline }.filter { !$0.hasPrefix("#") }
    }

    /// Follows links until a name is not a link, or is in `zone.tab`. The bound on the loop guards against cycles.
    private static func end(of target: String, links: [String: String], cities: Set<String>) -> String {
        var name = target
        for _ in links.indices {
            guard !cities.contains(name), let next = links[name] else { break }
            name = next
        }
        return name
    }
}
