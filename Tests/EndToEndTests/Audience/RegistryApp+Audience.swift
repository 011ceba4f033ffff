import RegistryTestSupport
import Testing

extension RegistryApp {
    /// Sends an audience call.
    func ask(_ call: String, _ body: JSON, by credential: Credential = .role(.sender)) async throws -> HTTPResponse {
        try await send("POST", "/audience/\(call)", body, by: credential)
    }

    func count(_ filter: JSON, include: String? = nil) async throws -> Int64? {
        var body: JSON = ["filter": filter]
        if let include { body["include"] = .string(include) }
        return try await ask("count", body).json["count"].integer
    }

    /// Registers installations that differ from `SampleRegistration` in some members of the device.
    func register(_ devices: [(name: String, changes: JSON)], as user: String? = nil) async throws {
        for (name, changes) in devices {
            var body = SampleRegistration.make(name)
            body["device"] = .object(SampleRegistration.device(name).object.merging(changes.object) { $1 })
            let response = try await put(name, body, as: user)
            #expect(response.status == 201, "\(response.text)")
        }
    }

    /// The lines of an export.
    func export(_ body: JSON, by credential: Credential = .role(.sender)) async throws -> [JSON] {
        let response = try await ask("export", body, by: credential)
        #expect(response.status == 200, "\(response.text)")
        return try response.body.split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: $0) }
    }
}
