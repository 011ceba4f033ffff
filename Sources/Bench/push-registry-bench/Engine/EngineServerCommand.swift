import ArgumentParser
import EventLoop
import Foundation
import HTTPApplication
import HTTPServer
import HTTPTypes
import Logging
import StrictJSON

/// The server that the engine benchmark measures: `HTTPServer` alone, without a database and without logs.
struct EngineServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine-server", abstract: "Serve the routes of the engine benchmark.", shouldDisplay: false)

    @Option var port: UInt16
    @Option var certificate: String?
    @Option var key: String?

    func run() async throws {
        let loops = (0..<ProcessInfo.processInfo.activeProcessorCount).map { EventLoop(name: "loop-\($0)") }
        let logger = Logger(label: "engine") { _ in SwiftLogNoOpLogHandler() }
        let server = try HTTPServer(httpConfiguration, loops: loops, logger: logger) { _ in EngineRoutes.application }
        await server.run()
    }

    private var httpConfiguration: HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration(addresses: [ListenAddress(host: "127.0.0.1", port: port)])
        if let certificate, let key {
            configuration.tls = TLSFiles(certificateChain: certificate, privateKey: key)
        }
        return configuration
    }
}

// GET /healthz: the service's response.
// POST /echo: decodes a registration and returns the length of its token and installation id.
/// The routes of both sides of the engine benchmark.
enum EngineRoutes {
    /// The limit of the service's registrations.
    private static let bodyBytesMax = 16 * 1024

    private static let healthy = ServerResponse(
        .ok, fields: [.contentType: "application/json"], body: .bytes(Array(#"{"status":"ok"}"#.utf8)))

    static var application: Application { Application(router: Router([health, echo])) }

    private static var health: Route {
        Route(.get, "/healthz") { _ in healthy }
    }

    private static var echo: Route {
        Route(.post, "/echo", bodyBytesMax: bodyBytesMax) { request in
            let registration = try EngineRegistration(request.body)
            var writer = JSONWriter()
            writer.object { $0.member("size", registration.size) }
            return ServerResponse(.ok, fields: [.contentType: "application/json"], body: .bytes(writer.bytes))
        }
    }
}

/// Decodes a registration's body: each member into its own value, as the service and Hummingbird's server do.
struct EngineRegistration {
    private static let tokenScalarsMax = 4_096
    private static let textScalarsMax = 256
    private static let languagesMax = 32
    private static let settings: [StaticString] = [
        "authorizationStatus", "soundSetting", "badgeSetting", "alertSetting", "notificationCenterSetting",
        "lockScreenSetting", "carPlaySetting", "criticalAlertSetting", "announcementSetting", "alertStyle",
        "showPreviewsSetting",
    ]
    private static let requiredTexts: [StaticString] = [
        "installId", "deviceModel", "systemName", "systemVersion", "locale", "timeZoneId",
    ]
    private static let optionalTexts: [StaticString] = [
        "keychainId", "vendorId", "advertisingId", "appVersion", "language", "region", "carrier", "appStore",
    ]

    /// The bytes of token and installation id.
    let size: Int

    /// - Throws: every fault of the body.
    init(_ body: [UInt8]) throws(JSONFaults) {
        let document = try JSONDocument(body)
        let root = document.root.object()
        let token = root?.string("token", .required, scalarsMax: Self.tokenScalarsMax)
        _ = root?.string("provider", scalarsMax: Self.textScalarsMax)
        let keys = root?.object("keys")
        _ = Self.texts(["p256dh", "auth"], of: keys, .required)
        let settings = root?.object("settings")
        _ = Self.texts(Self.settings, of: settings)
        _ = settings?.boolean("providesAppNotificationSettings")
        let device = root?.object("device", .required)
        let ids = Self.texts(Self.requiredTexts, of: device, .required)
        _ = Self.texts(Self.optionalTexts, of: device)
        _ = device?.strings("languages", elementsMax: Self.languagesMax, scalarsMax: Self.textScalarsMax)
        _ = device?.integer("timeZoneOffset", .required)
        let location = device?.object("location")
        _ = location?.double("latitude", .required, in: -90...90)
        _ = location?.double("longitude", .required, in: -180...180)
        try document.check()
        size = (token?.utf8.count ?? 0) + (ids[0]?.utf8.count ?? 0)
    }

    private static func texts(
        _ names: [StaticString], of object: JSONObject?, _ presence: JSONPresence = .optional
    ) -> [String?] {
        names.map { object?.string($0, presence, scalarsMax: textScalarsMax) }
    }
}
