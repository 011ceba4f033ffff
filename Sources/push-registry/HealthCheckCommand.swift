import ArgumentParser
import HTTPFetch
import HTTPServer

/// `push-registry healthcheck`.
struct HealthCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck", abstract: "Ask the service of this machine whether it is healthy.",
        discussion: """
            It calls GET /healthz at the first address of --listen, with TLS if --tls-cert is set; both are read from \
            flags, environment and file, as `serve` reads them. It is for containers, whose image has no other HTTP \
            client. With --ready it calls /readyz: whether the service can do its work, database included. Restart a \
            service for the first, and send no calls to it for the second.

            Exit codes: 0 healthy; 1 not; 64 a mistake in the command line or a setting.
            """)

    @OptionGroup var common: CommonOptions
    @Option(help: ArgumentHelp("Where the service listens (default: 127.0.0.1:8080).", valueName: "host:port"))
    var listen: String?
    @Option(help: ArgumentHelp("The service's certificate; it is not read.", valueName: "file"))
    var tlsCert: String?
    @Flag(help: "Ask whether it is ready, too.") var ready = false

    func run() async throws {
        let settings = try await common.settings(["listen": listen, "tlsCert": tlsCert])
        let fetch = HTTPFetch(bytesMax: 64 * 1024, peers: .ownService, userAgent: "push-registry healthcheck")
        let url = try url(settings)
        do throws(FetchFailure) {
            _ = try await fetch.document(at: url)
            print("healthy")
        } catch {
            print("not healthy: \(url): \(error)")
            throw ExitCode.failure
        }
    }

    private func url(_ settings: Settings) throws -> String {
        let first = settings.listen.split(separator: ",").first.map(String.init) ?? ""
        guard let address = ListenAddress(first), address.port != 0 else {
            throw ValidationError("\(first) is no address to ask at; write host:port, such as 127.0.0.1:8080.")
        }
        let scheme = settings.tlsCertificate == nil ? "http" : "https"
        return "\(scheme)://\(address.asCallable)\(ready ? "/readyz" : "/healthz")"
    }
}

extension ListenAddress {
    /// The same, and for all addresses of the machine that of its loopback.
    fileprivate var asCallable: ListenAddress {
        switch host {
        case "", "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }
}
