import Basics
import Foundation
import RegistryTestSupport

/// Debian's Chromium, driven over HTTP by its chromedriver (W3C WebDriver). Tests share one driver; each has a browser
/// window of its own, in a browser that ran for earlier ones.
final class Chromium: @unchecked Sendable {
    static let binary = "/usr/bin/chromium"
    static let driver = "/usr/bin/chromedriver"

    static var isInstalled: Bool {
        [binary, driver].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private let process = Process()
    private let output = Pipe()
    let client: HTTPClient
    /// The sessions of browsers without a test, by language.
    private let idle = Locked<[String: [String]]>([:])

    /// Starts the driver on a free port, which it prints.
    private init() throws {
        process.executableURL = URL(filePath: Self.driver)
        process.arguments = ["--port=0"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var text = ""
        var port: UInt16?
        while port == nil {
            let bytes = output.fileHandleForReading.availableData
            guard !bytes.isEmpty else { throw DriverEnded(output: text) }
            text += String(decoding: bytes, as: UTF8.self)
            port = text.firstMatch(of: /started successfully on port ([0-9]+)/).flatMap { UInt16($0.1) }
        }
        client = HTTPClient(port: port ?? 0)
    }

    /// Lends a driver, and ends it and its browsers afterwards.
    static func with<Value: Sendable>(_ body: (Chromium) async throws -> Value) async throws -> Value {
        let chromium = try Chromium()
        // It ignores SIGTERM.
        defer { kill(chromium.process.processIdentifier, SIGKILL) }
        let result: Result<Value, any Error>
        do { result = .success(try await body(chromium)) } catch { result = .failure(error) }
        await chromium.closeIdle()
        return try result.get()
    }

    func takeIdle(_ language: String) -> String? { idle.withLock { $0[language]?.popLast() } }

    func addIdle(_ session: String, _ language: String) { idle.withLock { $0[language, default: []].append(session) } }

    private func closeIdle() async {
        for session in idle.withLock({ $0.values.joined() }) { _ = try? await command("DELETE", session) }
    }

    /// Sends a WebDriver command.
    ///
    /// - Returns: the member `value` of the response.
    func command(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        let payload = method == "POST" ? (body ?? [:]) : body
        // It closes idle connections while a test does something else.
        let request = HTTPRequest(
            method, path, fields: [("Content-Type", "application/json"), ("Connection", "close")],
            body: payload.map { Array($0.text.utf8) })
        let response = try await client.response(to: request)
        guard response.status == 200 else { throw DriverRefusal(path: path, text: String(response.text.prefix(1_000))) }
        return response.json["value"]
    }
}

/// chromedriver ended before it listened.
struct DriverEnded: Error {
    let output: String
}

/// chromedriver refused a command, such as a script that threw.
struct DriverRefusal: Error, CustomStringConvertible {
    let path: String
    let text: String

    var description: String { "\(path): \(text)" }
}
