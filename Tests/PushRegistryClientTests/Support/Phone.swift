import Foundation
import PushRegistryClient
import PushRegistryTesting
import Synchronization
import Testing

@testable import PushRegistryClient

/// A phone with one app: its storage and its settings outlive the process. The registry is in memory.
final class Phone: Sendable {
    static let token = String(repeating: "5f", count: 32)

    let clock: ManualClock
    let registry: InMemoryRegistry
    let storage: InMemoryStorage
    private let device: Mutex<Result<PushRegistryClient.DeviceSnapshot, CocoaError>>

    init(
        _ name: String = "phone", clock: ManualClock = ManualClock(), registry: InMemoryRegistry? = nil,
        storage: InMemoryStorage = InMemoryStorage()
    ) {
        self.clock = clock
        self.registry = registry ?? InMemoryRegistry(clock: clock)
        self.storage = storage
        device = Mutex(.success(.make(fingerprint: name)))
    }

    /// A new process.
    ///
    /// - Parameter key: whether the app has the publishable key.
    func launch(
        key: Bool = true, transport: (any PushRegistryClient.Transport)? = nil, services: SystemServices = .current
    ) -> PushRegistryClient {
        PushRegistryClient(
            url: registry.url, app: registry.app, key: key ? registry.key : nil, storage: storage,
            device: { try self.device.withLock { $0 }.get() }, transport: transport ?? registry, clock: clock,
            jitter: { 0.5 }, services: services)
    }

    /// A new process of an app whose user is signed in.
    func launch(
        as user: String, session: String? = nil, transport: (any PushRegistryClient.Transport)? = nil,
        services: SystemServices = .current
    ) async -> PushRegistryClient {
        let client = launch(transport: transport, services: services)
        await client.signIn { self.registry.credential(user: user, session: session) }
        await client.didRegister(token: Self.token, provider: .apns)
        await client.settled()
        return client
    }

    /// A new process whose first registration the gate holds.
    func launchHeld(as user: String) async -> (client: PushRegistryClient, gate: GatedTransport) {
        let gate = GatedTransport(registry)
        let client = launch(transport: gate)
        await client.signIn { self.registry.credential(user: user) }
        await client.didRegister(token: Self.token, provider: .apns)
        await gate.arrival()
        return (client, gate)
    }

    func set(_ change: (inout PushRegistryClient.DeviceSnapshot) -> Void) {
        device.withLock { result in
            var snapshot = (try? result.get()) ?? .make(fingerprint: "phone")
            change(&snapshot)
            result = .success(snapshot)
        }
    }

    func failToReadDevice() {
        device.withLock { $0 = .failure(CocoaError(.fileReadNoPermission)) }
    }

    /// The only installation.
    var installation: InMemoryRegistry.InstallationView? {
        get async {
            guard let id = await registry.installationIDs.first else { return nil }
            return await registry.installation(id)
        }
    }

    /// The methods of all requests, and what they are about beside the installation.
    var calls: [String] {
        get async {
            await registry.requests.map { request in
                let topic = request.url.pathComponents.first {
                    ["logout", "topics", "tokens", "notifications", "receipts"].contains($0)
                }
                return request.method + (topic.map { " \($0)" } ?? "")
            }
        }
    }
}

extension PushRegistryClient.DeviceSnapshot {
    static func make(fingerprint: String?) -> Self {
        var device = PushRegistryClient.Device(
            deviceModel: "iPhone17,3", systemName: "iOS", systemVersion: "26.5", appVersion: "1.4.0",
            locale: Locale(identifier: "de_DE"), languages: ["de-DE"])
        device.vendorId = fingerprint
        return Self(device: device, settings: .init(authorizationStatus: .authorized), fingerprint: fingerprint)
    }
}

extension PushRegistryClient {
    /// Waits for a state.
    func state(_ isWanted: @escaping @Sendable (State) -> Bool) async -> State? {
        await states.first { isWanted($0) }
    }
}

extension PushRegistryClient.State {
    var isRegistered: Bool { if case .registered = self { true } else { false } }

    var retryAt: Date? { if case .waiting(let until, _) = self { until } else { nil } }

    var problem: PushRegistryClient.Problem? { if case .misconfigured(let problem) = self { problem } else { nil } }
}
