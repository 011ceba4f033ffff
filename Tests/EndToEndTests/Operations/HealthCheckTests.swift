import EmbeddedPostgres
import Foundation
import Glibc
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("push-registry healthcheck reports whether the service is healthy")
    struct HealthCheckTests {
        private func check(
            _ arguments: String..., environment: [String: String] = [:]
        ) async throws -> (status: Int32, output: String, log: String) {
            try await RegistryCommand.run(["healthcheck"] + arguments, environment: environment)
        }

        @Test func service_isHealthyAndReady_untilTheDatabaseOrTheServiceStops() async throws {
            try await withRegistry { registry in
                let address = "127.0.0.1:\(registry.client.port)"
                for arguments in [["--listen", address], ["--listen", address, "--ready"]] {
                    let result = try await RegistryCommand.run(["healthcheck"] + arguments)
                    #expect(result.status == 0 && result.output == "healthy\n", "\(result)")
                }
                // The service in a container listens on all addresses.
                let anywhere = ["PUSH_REGISTRY_LISTEN": "0.0.0.0:\(registry.client.port),[::1]:1"]
                #expect(try await check(environment: anywhere).status == 0)
                await registry.cluster.kill()
                try await eventually("the service is not ready") {
                    try await check("--listen", address, "--ready").status == 1
                }
                #expect(try await check("--listen", address).status == 0)
                #expect(try await check("--listen", address, "--ready").output.contains("503"))
                _ = try await registry.service.stop()
                let gone = try await check("--listen", address)
                #expect(gone.status == 1 && gone.output.hasPrefix("not healthy: http://\(address)/healthz"))
            }
        }

        /// The certificate has the name of the service, not its address.
        @Test func service_isHealthy_withTLS() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (certificate, key) = (folder.appending(path: "cert.pem").path, folder.appending(path: "key.pem").path)
            let made = system(
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                    + "-subj /CN=push.example.com -keyout \(key) -out \(certificate) 2> /dev/null")
            #expect(made == 0)
            let environment = ["PUSH_REGISTRY_TLS_CERT": certificate, "PUSH_REGISTRY_TLS_KEY": key]
            try await withRegistry(environment: environment) { registry in
                let address = "127.0.0.1:\(registry.client.port)"
                let found = [
                    try await check("--listen", address, environment: environment).status,
                    try await check("--listen", address, "--tls-cert", certificate).status,
                    try await check("--listen", address).status,
                ]
                #expect(found == [0, 0, 1])
            }
        }

        @Test(arguments: ["nowhere", "127.0.0.1:0", ""])
        func address_isRefused_whenItIsInvalid(address: String) async throws {
            let result = try await check("--listen", address)
            #expect(result.status == 64 && !result.log.isEmpty, "\(result)")
        }
    }
}
