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

    private let token: String
    private let provider: String?
    private let p256dh: String?
    private let auth: String?
    private let settings: EngineSettings?
    private let device: EngineDevice

    /// - Throws: every fault of the body.
    init(_ body: [UInt8]) throws(JSONFaults) {
        let document = try JSONDocument(body)
        let root = document.root.object()
        let token = root?.string("token", .required, scalarsMax: Self.tokenScalarsMax)
        provider = root?.text("provider")
        let keys = root?.object("keys")
        p256dh = keys?.text("p256dh", .required)
        auth = keys?.text("auth", .required)
        settings = (root?.object("settings")).map(EngineSettings.init)
        let device = (root?.object("device", .required)).map(EngineDevice.init)
        try document.check()
        guard let token, let device else { preconditionFailure("a missing value is a fault") }
        (self.token, self.device) = (token, device)
    }

    var size: Int { token.utf8.count + (device.installID?.utf8.count ?? 0) }
}

/// The settings of a registration.
private struct EngineSettings {
    private let authorizationStatus: String?
    private let soundSetting: String?
    private let badgeSetting: String?
    private let alertSetting: String?
    private let notificationCenterSetting: String?
    private let lockScreenSetting: String?
    private let carPlaySetting: String?
    private let criticalAlertSetting: String?
    private let announcementSetting: String?
    private let alertStyle: String?
    private let showPreviewsSetting: String?
    private let providesAppNotificationSettings: Bool?

    init(_ object: JSONObject) {
        authorizationStatus = object.text("authorizationStatus")
        soundSetting = object.text("soundSetting")
        badgeSetting = object.text("badgeSetting")
        alertSetting = object.text("alertSetting")
        notificationCenterSetting = object.text("notificationCenterSetting")
        lockScreenSetting = object.text("lockScreenSetting")
        carPlaySetting = object.text("carPlaySetting")
        criticalAlertSetting = object.text("criticalAlertSetting")
        announcementSetting = object.text("announcementSetting")
        alertStyle = object.text("alertStyle")
        showPreviewsSetting = object.text("showPreviewsSetting")
        providesAppNotificationSettings = object.boolean("providesAppNotificationSettings")
    }
}

/// The device of a registration. A missing required member is a fault of the document.
private struct EngineDevice {
    private static let languagesMax = 32

    let installID: String?
    private let keychainID: String?
    private let vendorID: String?
    private let advertisingID: String?
    private let appVersion: String?
    private let deviceModel: String?
    private let systemName: String?
    private let systemVersion: String?
    private let locale: String?
    private let language: String?
    private let languages: [String]?
    private let region: String?
    private let timeZoneID: String?
    private let timeZoneOffset: Int64?
    private let carrier: String?
    private let appStore: String?
    private let latitude: Double?
    private let longitude: Double?

    init(_ object: JSONObject) {
        installID = object.text("installId", .required)
        keychainID = object.text("keychainId")
        vendorID = object.text("vendorId")
        advertisingID = object.text("advertisingId")
        appVersion = object.text("appVersion")
        deviceModel = object.text("deviceModel", .required)
        systemName = object.text("systemName", .required)
        systemVersion = object.text("systemVersion", .required)
        locale = object.text("locale", .required)
        language = object.text("language")
        languages = object.strings("languages", elementsMax: Self.languagesMax, scalarsMax: JSONObject.textScalarsMax)
        region = object.text("region")
        timeZoneID = object.text("timeZoneId", .required)
        timeZoneOffset = object.integer("timeZoneOffset", .required)
        carrier = object.text("carrier")
        appStore = object.text("appStore")
        let location = object.object("location")
        latitude = location?.double("latitude", .required, in: -90...90)
        longitude = location?.double("longitude", .required, in: -180...180)
    }
}

extension JSONObject {
    fileprivate static let textScalarsMax = 256

    fileprivate func text(_ name: StaticString, _ presence: JSONPresence = .optional) -> String? {
        string(name, presence, scalarsMax: Self.textScalarsMax)
    }
}
