import RegistryTestSupport
import Testing

/// Makes calls by the API's description, and compares the responses with it.
final class DescribedCalls {
    let app: RegistryApp
    let document: OpenAPI
    private let check: SchemaCheck
    /// `operationId status` of every response, and `code` of every refusal.
    private(set) var answered: Set<String> = []
    private(set) var codes: Set<String> = []
    /// Of the console's session.
    private var cookie: String?

    init(_ app: RegistryApp) async throws {
        self.app = app
        document = try OpenAPI(parsing: try await app.registry.send("GET", "/openapi.json", key: nil).body)
        check = SchemaCheck(document)
    }

    func operation(_ id: String) throws -> OpenAPI.Operation {
        try #require(document.operation(id), "\(id)")
    }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - path: values of path parameters; by default those of the examples.
    ///   - text: the bytes of the body, instead of `body`.
    func call(
        _ id: String, _ body: JSON? = nil, text: String? = nil, path values: [String: String] = [:], query: String = "",
        by credential: RegistryApp.Credential = .role(.service), fields: [(String, String)] = []
    ) async throws -> HTTPResponse {
        let operation = try operation(id)
        let path = path(of: operation, values) + (query.isEmpty ? "" : "?" + query)
        var request = HTTPRequest.make(operation.method, path, body, key: app.text(of: credential), fields: fields)
        if let text { request.body = Array(text.utf8) }
        if operation.path.hasPrefix("/console/") {
            request.fields.append(("Sec-Fetch-Site", "same-origin"))
            if let cookie { request.fields.append(("Cookie", cookie)) }
        }
        let response = try await app.registry.client.response(to: request)
        if let field = response["Set-Cookie"] { cookie = String(field.prefix { $0 != ";" }) }
        hold(response, to: operation)
        return response
    }

    private func path(of operation: OpenAPI.Operation, _ values: [String: String]) -> String {
        let known = ["app": app.id].merging(values) { $1 }
        return document.parameters(of: operation).filter { $0["in"] == "path" }.reduce(operation.path) {
            path, parameter in
            let name = parameter["name"].string ?? ""
            return path.replacing("{\(name)}", with: known[name] ?? parameter["example"].string ?? "")
        }
    }
}

// MARK: - Responses

extension DescribedCalls {
    private func hold(_ response: HTTPResponse, to operation: OpenAPI.Operation) {
        let described = document.response(of: operation, status: response.status)
        let place = "\(operation) \(response.status)"
        #expect(operation.statuses.contains("\(response.status)"), "\(place) \(response.text)")
        for (name, header) in described["headers"].object where document.resolved(header)["required"] != false {
            #expect(response[name] != nil, "\(place) \(name)")
        }
        answered.insert("\(operation.id) \(response.status)")
        let content = described["content"].object
        guard !content.isEmpty else {
            #expect(response.body == [], "\(place)")
            return
        }
        let type = response["Content-Type"].map { String($0.prefix { $0 != ";" }) } ?? ""
        guard let media = content[type] else {
            Issue.record("\(place): \(type) is not described")
            return
        }
        #expect(faults(response, type, media) == [], "\(place)")
        if type == "application/problem+json" { hold(problem: response, to: media, place) }
    }

    private func faults(_ response: HTTPResponse, _ type: String, _ media: JSON) -> [String] {
        switch type {
        case "application/json", "application/problem+json": check.faults(response.json, media["schema"])
        case "application/x-ndjson":
            response.text.split(separator: "\n").flatMap { line in
                check.faults((try? JSON(parsing: line.utf8)) ?? .null, media["schema"])
            }
        default: check.faults(.string(response.text), media["schema"])
        }
    }

    private func hold(problem response: HTTPResponse, to media: JSON, _ place: String) {
        let code = response.code ?? "none"
        #expect(media["examples"].object[code] != nil, "\(place): the code \(code) is not described")
        codes.insert(code)
    }
}
