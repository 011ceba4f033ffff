import ArgumentParser

/// `push-registry config`.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Print every setting with its value and its source.",
        discussion: """
            It reads flags, environment and file like `serve` and `cleanup`, but starts nothing. Unknown names and \
            invalid values are errors (exit code 64). Secrets are not shown.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var serving: ServingOptions
    @OptionGroup(title: "Connections") var connections: ConnectionOptions
    @OptionGroup(title: "Sizes") var sizes: SizeOptions
    @OptionGroup(title: "Limits of an address") var addressLimits: AddressLimitOptions
    @OptionGroup(title: "Audiences") var audiences: AudienceOptions
    @OptionGroup(title: "Key sets") var keySets: KeySetOptions
    @OptionGroup(title: "Night job") var cleanUp: CleanUpOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let groups = [
            connections.flags, sizes.flags, addressLimits.flags, audiences.flags, keySets.flags, cleanUp.flags,
        ]
        let reader = try common.reader(groups.reduce(serving.flags) { $0.merging($1) { own, _ in own } })
        // Validates all values.
        _ = try Settings(reader)
        let lines = SettingsCatalog.all.map { Line($0, reader) }
        if json { return try printJSON(["settings": lines]) }
        let (names, values) = (lines.map(\.name.count).max() ?? 0, lines.map(\.value.count).max() ?? 0)
        for line in lines { print(line.text(names, values)) }
    }
}

extension ConfigCommand {
    private struct Line: Encodable {
        let name: String
        let value: String
        let from: String

        init(_ entry: SettingEntry, _ reader: SettingsReader) {
            name = entry.name
            let text = reader.string(entry.name)
            value = entry.isSecret && text != nil ? "(secret)" : text ?? entry.standard
            from = reader.source(entry.name).text
        }

        func text(_ nameWidth: Int, _ valueWidth: Int) -> String {
            let columns = [(name, nameWidth), (value, valueWidth)].map { text, width in
                text + String(repeating: " ", count: width - text.count)
            }
            return columns.joined(separator: "  ") + "  " + from
        }
    }
}
