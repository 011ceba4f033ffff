import ArgumentParser
import HTTPFetch
import HTTPServer

/// `push-registry healthcheck`.
struct HealthCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck", abstract: "Check whether the service on this machine is healthy.",
        usage: "push-registry healthcheck [--ready] [<options>]",
        discussion: """
            It calls GET /healthz at the first address of --listen, over TLS if --tls-cert is set. Like `serve`, it \
            reads both from flags, environment and file. It is for containers, because the image has no other HTTP \
            client. With --ready, it calls /readyz, which also checks the database. Restart a service that is not \
            healthy; send no calls to a service that is not ready.

            Exit codes: 0 healthy; 1 not healthy; 64 invalid command line or setting.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var service: SettingOptions<Setting.HealthCheck>
    @Flag(help: "Check readiness, too.") var ready = false

    func run() async throws {
        let settings = try await common.settings(service.texts)
        let fetch = HTTPFetch(bytesMax: 64 * 1024, peers: .ownService, userAgent: "push-registry healthcheck")
        let url = try url(settings)
        do throws(FetchFailure) {
            _ = try await fetch.document(at: url)
            print("healthy")
        } catch {
            printLine("not healthy: \(url): \(error)")
            throw ExitCode.failure
        }
    }

    private func url(_ settings: Settings) throws -> String {
        guard let address = settings.server.addresses.first, address.port != 0 else {
            throw ValidationError("--listen must name the port to call, such as 127.0.0.1:8080.")
        }
        let scheme = settings.tlsCertificate == nil ? "http" : "https"
        return "\(scheme)://\(address.asCallable)\(ready ? "/readyz" : "/healthz")"
    }
}

extension ListenAddress {
    /// The address to call: a loopback address if the service listens on all addresses.
    fileprivate var asCallable: ListenAddress {
        switch host {
        case "", "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }
}
