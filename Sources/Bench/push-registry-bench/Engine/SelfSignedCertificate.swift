import Foundation

/// A certificate for localhost and its key, in a folder that is removed afterwards.
struct SelfSignedCertificate: Sendable {
    let certificate: String
    let key: String

    static func with<Value: Sendable>(_ body: (SelfSignedCertificate) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-registry-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = SelfSignedCertificate(
            certificate: folder.appending(path: "certificate.pem").path, key: folder.appending(path: "key.pem").path)
        // P-256, like most public server certificates today.
        try await Binary.onPath("openssl").run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-keyout", files.key, "-out", files.certificate,
        ])
        return try await body(files)
    }
}
