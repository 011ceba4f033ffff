import ArgumentParser
import Foundation
import HTTPServer
import Logging
import Testing

@testable import push_registry

@Suite("A setting comes from a flag, the environment or the file, and unknown names are errors")
struct SettingsReaderTests {
    private func withFile(_ text: String, mode: Int = 0o600, _ body: (String) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString).json")
        try Data(text.utf8).write(to: url)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
        defer { try? FileManager.default.removeItem(at: url) }
        try body(url.path)
    }

    private func refusal(
        flags: [String: String] = [:], environment: [String: String] = [:], file: String? = nil
    ) -> String? {
        do {
            _ = try Settings(SettingsReader(flags: flags, environment: environment, file: file))
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func flag_overridesEnvironment_overridesFile() throws {
        try withFile(#"{"eventLoops": 2, "connectionsMax": 500, "logLevel": "debug"}"#) { file in
            let reader = try SettingsReader(
                flags: ["eventLoops": "4"],
                environment: ["PUSH_REGISTRY_EVENT_LOOPS": "3", "PUSH_REGISTRY_CONNECTIONS_MAX": "700"], file: file)
            #expect(reader.string("eventLoops") == "4" && reader.source("eventLoops") == .flag("--event-loops"))
            #expect(reader.string("connectionsMax") == "700")
            #expect(reader.source("connectionsMax") == .variable("PUSH_REGISTRY_CONNECTIONS_MAX"))
            #expect(reader.source("logLevel") == .file(file) && reader.source("listen") == .standard)
            let settings = try Settings(reader)
            #expect(settings.eventLoops == 4 && settings.server.connectionsMax == 700)
            #expect(settings.logLevel == .debug && settings.server.addresses.map(\.description) == ["127.0.0.1:8080"])
        }
    }

    @Test func numbersInTheFile_count() throws {
        try withFile(#"{"connectionsMax": 500, "eventLoops": 4, "drainDelay": "PT3S"}"#) { file in
            let settings = try Settings(SettingsReader(flags: [:], environment: [:], file: file))
            #expect(settings.server.connectionsMax == 500 && settings.eventLoops == 4)
            #expect(settings.drainDelay == .seconds(3))
        }
    }

    @Test(arguments: [
        (#"{"tlsCertificate": "x"}"#, "tlsCertificate is not a setting"),
        (#"{"listenn": "x"}"#, "Did you mean listen?"),
        (#"{"drainDelay": 3}"#, "drainDelay"), (#"{"listen": ["a"]}"#, "/listen"),
        (#"{"listen": ""}"#, "/listen"), (#"{"listen": true}"#, "/listen"),
        (#"{"listen": "a", "listen": "b"}"#, "/listen"),
        (#"{"listen": "a""#, "byte"), (#"["listen"]"#, "object"), ("", "byte"),
    ])
    func file_isRefused_withItsNameAndThePosition(text: String, words: String) throws {
        try withFile(text) { file in
            let refusal = refusal(file: file) ?? ""
            #expect(refusal.contains(file) && refusal.contains(words), "\(refusal)")
        }
    }

    @Test func file_isRefused_whenItIsNotThere() {
        #expect(refusal(file: "/nonexistent/settings.json")?.contains("/nonexistent/settings.json") == true)
    }

    @Test func unknownVariable_isRefused_andLeadsToTheNearest() {
        let refusal = self.refusal(environment: ["PUSH_REGISTRY_DATABSE_URL": "x"]) ?? ""
        #expect(refusal.contains("Did you mean PUSH_REGISTRY_DATABASE_URL?"))
        #expect(self.refusal(environment: ["PUSH_REGISTRY_COLOUR": "x"])?.contains("push-registry config") == true)
    }

    @Test func emptyVariable_isAbsent_andEmptyFlagIsRefused() throws {
        let reader = try SettingsReader(
            flags: [:], environment: ["PUSH_REGISTRY_DATABASE_URL": "", "PUSH_REGISTRY_LISTEN": ""], file: nil)
        #expect(reader.string("databaseUrl") == nil && reader.source("listen") == .standard)
        #expect(refusal(flags: ["listen": ""])?.contains("--listen requires a value") == true)
    }

    /// A Service whose name begins with push-registry gives every pod of its namespace these.
    @Test(arguments: ["", "DB_", "METRICS_2_", "PORT_"]) func variablesOfKubernetes_areNoSettings(service: String) {
        let variables = [
            "SERVICE_HOST": "10.0.0.1", "SERVICE_PORT": "8080", "SERVICE_PORT_HTTP": "8080",
            "PORT": "tcp://10.0.0.1:8080", "PORT_8080_TCP": "tcp://10.0.0.1:8080", "PORT_8080_TCP_ADDR": "10.0.0.1",
            "PORT_8080_TCP_PORT": "8080", "PORT_8080_TCP_PROTO": "tcp",
        ]
        let environment = variables.map { ("PUSH_REGISTRY_" + service + $0.key, $0.value) }
        #expect(refusal(environment: Dictionary(uniqueKeysWithValues: environment)) == nil)
    }

    /// They resemble variables of Kubernetes, but a person wrote them.
    @Test(arguments: ["PORTS", "PORT", "LISTEN_PORT", "SERVICE", "PORT_8080"])
    func misspeltVariables_areRefused_withAPort(name: String) {
        #expect(refusal(environment: ["PUSH_REGISTRY_" + name: "8080"])?.contains(name) == true)
    }

    @Test func fileWithSecrets_isWarnedOf_whenOthersMayReadIt() throws {
        for (mode, count) in [(0o600, 0), (0o640, 1), (0o604, 1)] {
            try withFile(#"{"adminKey": "0123456789abcdef"}"#, mode: mode) { file in
                let reader = try SettingsReader(flags: [:], environment: [:], file: file)
                #expect(reader.warnings.count == count)
                #expect(!reader.warnings.joined().contains("0123456789abcdef"))
            }
        }
        try withFile(#"{"listen": "127.0.0.1:80"}"#, mode: 0o644) { file in
            let warnings = try SettingsReader(flags: [:], environment: [:], file: file).warnings
            #expect(warnings == [])
        }
    }

    /// The page lists every setting.
    @Test func page_namesEverySetting() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(
            contentsOf: folder.appending(path: "Sources/Command/push-registry/Documentation.docc/Settings.md"),
            encoding: .utf8)
        for setting in Setting.all {
            #expect(page.contains("`\(setting.flag ?? setting.variable)`"), "\(setting.name)")
            if let standard = setting.standardText {
                #expect(page.contains("`\(standard)`"), "\(setting.name): \(standard)")
            }
        }
    }
}
