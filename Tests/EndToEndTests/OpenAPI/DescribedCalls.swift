import RegistryTestSupport
import Testing

/// Calls of one app that are made by the API's description, and whose answers are held to it.
final class DescribedCalls {
    let app: RegistryApp
    let document: OpenAPI
    private let check: SchemaCheck
    /// `operationId status` of every answer, and the codes of the refusals.
    private(set) var answered: Set<String> = []
    private(set) var codes: Set<String> = []

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
    ///   - path: values of parameters of the path; the others have those of their examples.
    ///   - text: a body as it stands, instead of `body`.
    func call(
        _ id: String, _ body: JSON? = nil, text: String? = nil, path values: [String: String] = [:], query: String = "",
        by credential: RegistryApp.Credential = .role(.service), fields: [(String, String)] = []
    ) async throws -> HTTPResponse {
        let operation = try operation(id)
        let path = path(of: operation, values) + (query.isEmpty ? "" : "?" + query)
        var request = HTTPRequest.make(operation.method, path, body, key: key(credential), fields: fields)
        if let text { request.body = Array(text.utf8) }
        let answer = try await app.registry.client.response(to: request)
        hold(answer, to: operation)
        return answer
    }

    private func path(of operation: OpenAPI.Operation, _ values: [String: String]) -> String {
        let known = ["app": app.id].merging(values) { $1 }
        return document.parameters(of: operation).filter { $0["in"] == "path" }.reduce(operation.path) {
            path, parameter in
            let name = parameter["name"].string ?? ""
            return path.replacing("{\(name)}", with: known[name] ?? parameter["example"].string ?? "")
        }
    }

    private func key(_ credential: RegistryApp.Credential) -> String? {
        switch credential {
        case .role(let role): app.key(role)
        case .text(let text): text
        case .none: nil
        }
    }
}

// MARK: - Answers

extension DescribedCalls {
    private func hold(_ answer: HTTPResponse, to operation: OpenAPI.Operation) {
        let described = document.response(of: operation, status: answer.status)
        let place = "\(operation) \(answer.status)"
        #expect(operation.statuses.contains("\(answer.status)"), "\(place) \(answer.text)")
        for (name, header) in described["headers"].object where document.resolved(header)["required"] != false {
            #expect(answer[name] != nil, "\(place) \(name)")
        }
        answered.insert("\(operation.id) \(answer.status)")
        let content = described["content"].object
        guard !content.isEmpty else {
            #expect(answer.body == [], "\(place)")
            return
        }
        let type = answer["Content-Type"].map { String($0.prefix { $0 != ";" }) } ?? ""
        guard let media = content[type] else {
            Issue.record("\(place): \(type) is not described")
            return
        }
        #expect(faults(answer, type, media) == [], "\(place)")
        if type == "application/problem+json" { hold(problem: answer, to: media, place) }
    }

    private func faults(_ answer: HTTPResponse, _ type: String, _ media: JSON) -> [String] {
        switch type {
        case "application/json", "application/problem+json": check.faults(answer.json, media["schema"])
        case "application/x-ndjson":
            answer.text.split(separator: "\n").flatMap { line in
                check.faults((try? JSON(parsing: line.utf8)) ?? .null, media["schema"])
            }
        default: check.faults(.string(answer.text), media["schema"])
        }
    }

    private func hold(problem answer: HTTPResponse, to media: JSON, _ place: String) {
        let code = answer.code ?? "none"
        #expect(media["examples"].object[code] != nil, "\(place): the code \(code) is not described")
        codes.insert(code)
    }
}
