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
    @OptionGroup(title: "Night job") var nightJob: SettingOptions<Setting.NightJob>
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let reader = try common.reader(serving.texts.merging(nightJob.texts) { own, _ in own })
        // Validates all values.
        _ = try Settings(reader)
        let lines = Setting.all.map { Line($0, reader) }
        if json { return try printJSON(["settings": lines]) }
        let (names, values) = (lines.map(\.name.count).max() ?? 0, lines.map(\.value.count).max() ?? 0)
        for line in lines { printLine(line.text(names, values)) }
    }
}

extension ConfigCommand {
    private struct Line: Encodable {
        let name: String
        let value: String
        let from: String

        init(_ setting: Setting, _ reader: SettingsReader) {
            name = setting.name
            let text = reader.string(setting.name)
            value = setting.isSecret && text != nil ? "(secret)" : text ?? setting.standard
            from = reader.source(setting.name).text
        }

        func text(_ nameWidth: Int, _ valueWidth: Int) -> String {
            let columns = [(name, nameWidth), (value, valueWidth)].map { text, width in
                text + String(repeating: " ", count: width - text.count)
            }
            return columns.joined(separator: "  ") + "  " + from
        }
    }
}
