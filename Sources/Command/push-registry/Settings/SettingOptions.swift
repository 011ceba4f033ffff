import ArgumentParser
import Foundation
import PushRegistry

/// The flags of a group of settings. ArgumentParser finds options by reflection, so the mirror has one for each row of
/// the table.
struct SettingOptions<Group: SettingGroup>: ParsableArguments, CustomReflectable {
    /// The values of the flags that are given, by name of the setting.
    private(set) var texts: [String: String] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        for setting in Group.settings where setting.flag != nil {
            let key = Key(stringValue: setting.name)
            texts[setting.name] = try container.decode(Option<String?>.self, forKey: key).wrappedValue
        }
    }

    var customMirror: Mirror {
        Mirror(
            self,
            children: Group.settings.compactMap { setting in
                setting.option.map { (label: setting.name, value: $0) }
            })
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Setting {
    fileprivate var option: Option<String?>? {
        guard let flag else { return nil }
        let standard = standard.trimmingCharacters(in: CharacterSet(charactersIn: "()"))
        return Option(
            name: .customLong(String(flag.dropFirst(2))),
            help: ArgumentHelp("\(help) (default: \(standard)).", valueName: value.unit))
    }
}

/// The flags of every subcommand, which also read the settings.
struct CommonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A JSON file with settings; `push-registry config` lists them.", valueName: "file"))
    var config: String?

    @OptionGroup var flags: SettingOptions<Setting.Common>

    /// Reads and validates all settings: from flags, then the environment, then the file.
    ///
    /// - Parameter more: further flags by name of the setting.
    func settings(_ more: [String: String] = [:]) async throws -> Settings {
        try Settings(reader(more))
    }

    func reader(_ more: [String: String] = [:]) throws -> SettingsReader {
        try SettingsReader(
            flags: flags.texts.merging(more) { _, new in new }, environment: ProcessInfo.processInfo.environment,
            file: config)
    }
}

/// The flags of `serve`.
struct ServingOptions: ParsableArguments {
    @OptionGroup var service: SettingOptions<Setting.Service>
    @OptionGroup(title: "Connections") var connections: SettingOptions<Setting.Connections>
    @OptionGroup(title: "Sizes") var sizes: SettingOptions<Setting.Sizes>
    @OptionGroup(title: "Limits of an address") var addressLimits: SettingOptions<Setting.AddressLimits>
    @OptionGroup(title: "Audiences") var audiences: SettingOptions<Setting.Audiences>
    @OptionGroup(title: "Key sets") var keySets: SettingOptions<Setting.KeySets>
    @OptionGroup(title: "Sign-in to the console") var signIn: SettingOptions<Setting.SignIn>

    var texts: [String: String] {
        [
            service.texts, connections.texts, sizes.texts, addressLimits.texts, audiences.texts, keySets.texts,
            signIn.texts,
        ].reduce(into: [:]) { $0.merge($1) { own, _ in own } }
    }
}

extension String {
    /// The text itself, or the contents of the file named behind an `@`.
    func orContentsOfFile() throws -> String {
        guard hasPrefix("@") else { return self }
        let file = String(dropFirst())
        guard let text = try? String(contentsOf: URL(filePath: file), encoding: .utf8) else {
            throw ValidationError("\(file) cannot be read.")
        }
        return text
    }

    func asAppID() throws -> AppID {
        do {
            return try AppID(self)
        } catch {
            throw ValidationError("\(self) is not an app id: \(error.detail)")
        }
    }
}
