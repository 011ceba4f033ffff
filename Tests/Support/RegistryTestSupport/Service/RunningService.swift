import Foundation
import Glibc

/// A running `push-registry serve` on a free port.
public final class RunningService: Sendable {
    public static let adminKey = "admin-key-of-the-tests"

    public let command: RegistryCommand
    public let client: HTTPClient

    /// Starts a service over a database and waits until it listens.
    ///
    /// - Parameters:
    ///   - eventLoops: more than one, so that tests cover several loops.
    ///   - socket: replaces the free port.
    ///   - descriptorsMax: the hard limit of its open files.
    ///   - descriptorsSoftMax: the soft limit of its open files at its start.
    public static func start(
        databaseURL: String, eventLoops: Int = 2, environment: [String: String] = [:], socket: TestListener? = nil,
        descriptorsMax: Int? = nil, descriptorsSoftMax: Int? = nil
    ) async throws -> RunningService {
        let command = try RegistryCommand(
            ["serve", "--listen", "127.0.0.1:0", "--event-loops", "\(eventLoops)"],
            environment: [
                "PUSH_REGISTRY_DATABASE_URL": databaseURL, "PUSH_REGISTRY_ADMIN_KEY": adminKey,
                "PUSH_REGISTRY_LOG_LEVEL": "debug",
                // All tests have one address.
                "PUSH_REGISTRY_RECEIPT_RATE": "0", "PUSH_REGISTRY_FAILED_AUTHENTICATION_RATE": "0",
            ].merging(environment) { $1 }, socket: socket, descriptorsMax: descriptorsMax,
            descriptorsSoftMax: descriptorsSoftMax)
        do {
            let port = try await port(of: command)
            return RunningService(command, port: port)
        } catch {
            command.send(SIGKILL)
            throw error
        }
    }

    private init(_ command: RegistryCommand, port: UInt16) {
        self.command = command
        client = HTTPClient(port: port)
    }

    private static func port(of command: RegistryCommand) async throws -> UInt16 {
        var port: UInt16?
        try await eventually("the service listens", within: .seconds(60)) {
            guard command.isRunning else { throw ServiceEnded(log: command.log) }
            port = announcedPort(command.log)
            return port != nil
        }
        guard let port else { throw ServiceEnded(log: command.log) }
        return port
    }

    /// Reads only complete lines: the last one may still be being written.
    private static func announcedPort(_ log: String) -> UInt16? {
        let lines = log.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        let line = lines.first { $0.contains("listening") }
        return line?.firstMatch(of: /127\.0\.0\.1:([0-9]+)/).flatMap { UInt16($0.1) }
    }

    /// Sends SIGTERM and waits until it exits.
    public func stop() async throws -> Int32 {
        command.send(SIGTERM)
        return try await command.exitStatus()
    }

    /// Lends a service and kills it afterwards.
    public static func with<Value: Sendable>(
        databaseURL: String, eventLoops: Int = 2, environment: [String: String] = [:], descriptorsMax: Int? = nil,
        descriptorsSoftMax: Int? = nil, _ body: (RunningService) async throws -> Value
    ) async throws -> Value {
        let service = try await start(
            databaseURL: databaseURL, eventLoops: eventLoops, environment: environment, descriptorsMax: descriptorsMax,
            descriptorsSoftMax: descriptorsSoftMax)
        defer { service.command.send(SIGKILL) }
        do {
            return try await body(service)
        } catch {
            FileHandle.standardError.write(Data("the service's log:\n\(service.command.log.suffix(4_000))\n".utf8))
            throw error
        }
    }
}

/// The service ended before it listened.
public struct ServiceEnded: Error, CustomStringConvertible {
    let log: String

    public var description: String { "the service ended: \(log)" }
}

/// A socket that listens on a free port of 127.0.0.1, to pass to a service. Until then, clients wait
/// in its queue.
public final class TestListener: Sendable {
    let handle: FileHandle
    public let port: UInt16

    public init() throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, SOMAXCONN) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
    }
}
