import EventLoop
import Foundation
import HTTPApplication
import HTTPTypes
import RegistryTestSupport
import Testing

@testable import RegistryAPI

@Suite("The API description is complete and consistent")
struct OpenAPIDocumentTests {
    private let document: OpenAPI
    private let check: SchemaCheck

    init() throws {
        document = try OpenAPI(parsing: EmbeddedFile.openAPI.bytes)
        check = SchemaCheck(document)
    }

    /// All references.
    private func references(in value: JSON) -> [String] {
        (value["$ref"].string.map { [$0] } ?? []) + value.object.values.flatMap(references)
            + value.array.flatMap(references)
    }

    @Test func references_haveTargets() {
        let all = references(in: document.root)
        #expect(!all.isEmpty)
        #expect(all.filter { document[pointer: $0] == .null } == [])
    }

    @Test(arguments: ["schemas", "parameters", "headers", "responses", "examples"])
    func components_areUsed(kind: String) {
        let used = Set(references(in: document.root))
        let names = document.root["components"][kind].object.keys
        #expect(!names.isEmpty)
        #expect(names.filter { !used.contains("#/components/\(kind)/\($0)") } == [])
    }

    @Test func operations_haveUniqueIDs_andDeclareThePathsParameters() {
        #expect(Set(document.operations.map(\.id)).count == document.operations.count)
        for operation in document.operations {
            let declared = document.parameters(of: operation).filter { $0["in"] == "path" }
            let captured = operation.path.matches(of: /\{([^}]*)\}/).map { JSON.string(String($0.1)) }
            #expect(declared.map { $0["name"] } == captured, "\(operation)")
            #expect(declared.allSatisfy { $0["required"] == true }, "\(operation)")
        }
    }

    @Test func operations_listTheirRoles_inTheDescription() {
        for operation in document.operations {
            guard let roles = operation.roles else {
                #expect(operation.json["security"] == [], "\(operation)")
                continue
            }
            let words = operation.json["x-roles"].array.compactMap(\.string).joined(separator: ", ")
            let sentence = roles.isEmpty ? "For the admin key only." : "Roles: \(words)."
            #expect(operation.json["description"].string?.hasSuffix(sentence) == true, "\(operation)")
            #expect(operation.accepts("adminKey"), "\(operation)")
            #expect(operation.accepts("key") == !roles.isEmpty, "\(operation)")
            #expect(operation.accepts("userToken") == roles.contains("client"), "\(operation)")
        }
    }

    @Test func operations_areDescribed() {
        for operation in document.operations {
            let words = operation.json["description"].string ?? ""
            let sentence = words.split(separator: /Roles: |For the admin key/, omittingEmptySubsequences: false)[0]
            #expect(sentence.count > 40, "\(operation): \(words)")
        }
    }

    /// Client generators name the type of an alternative by its position if the schema has no name. An object that
    /// may be null is an alternative, too; openapi-python-client names it by the title.
    @Test func alternatives_haveNames_whenTheyAreObjects() {
        func unnamed(_ value: JSON, _ place: String) -> [String] {
            let alternatives = ["anyOf", "oneOf"].flatMap { value[$0].array }.filter { $0["properties"] != .null }
            let nullable = value["type"].array.contains("object") && value["title"] == .null ? [value] : []
            return (alternatives + nullable).map { _ in place }
                + value.object.flatMap { unnamed($1, "\(place)/\($0)") }
                + value.array.flatMap { unnamed($0, place) }
        }
        #expect(unnamed(document.root, "") == [])
    }

    /// Some generators name a type by the title of its schema, others by its key: both must be the same.
    @Test func titles_areTheNamesOfSchemas() {
        for (name, schema) in document.root["components"]["schemas"].object where schema["title"] != .null {
            #expect(schema["title"].string == name)
        }
    }

    /// swift-openapi-generator omits a member with such an alternative: `null` must be in a list of types.
    @Test func null_isNeverASchema() {
        func locations(_ value: JSON, _ location: String) -> [String] {
            (value["type"] == "null" ? [location] : [])
                + value.object.flatMap { locations($1, "\(location)/\($0)") }
                + value.array.flatMap { locations($0, location) }
        }
        #expect(locations(document.root, "") == [])
    }

    /// Client generators omit an operation with such a header.
    @Test func headers_haveNoFormat() {
        for parameter in document.operations.flatMap({ document.parameters(of: $0) }) where parameter["in"] == "header"
        {
            #expect(document.resolved(parameter["schema"])["format"] == .null, "\(parameter["name"])")
        }
    }

    /// All media types with their location.
    private var mediaTypes: [(place: String, type: String, media: JSON)] {
        document.operations.flatMap { operation in
            let bodies =
                [("request", operation.json["requestBody"])]
                + operation.json["responses"].object.map { ($0.key, document.resolved($0.value)) }
            return bodies.flatMap { name, body in
                body["content"].object.map { ("\(operation) \(name)", $0.key, $0.value) }
            }
        }
    }

    @Test func jsonBodies_haveValidExamples() {
        for (place, type, media) in mediaTypes where type.hasSuffix("json") {
            let examples = document.examples(of: media)
            #expect(
                !examples.isEmpty || place.hasPrefix("GET /openapi.json") || type == "application/ndjson", "\(place)")
            for example in examples { #expect(check.faults(example, media["schema"]) == [], "\(place)") }
        }
    }

    @Test func examplesOfParametersAndHeaders_areValid() {
        let components = document.root["components"]
        for place in ["parameters", "headers"] {
            for (name, item) in components[place].object {
                guard let example = item.object["example"] else { continue }
                #expect(check.faults(example, item["schema"]) == [], "\(name)")
            }
        }
        for parameter in document.operations.flatMap({ document.parameters(of: $0) })
        where parameter["example"] != .null {
            #expect(check.faults(parameter["example"], parameter["schema"]) == [], "\(parameter["name"])")
        }
    }

    /// Tests the check itself: it rejects examples with a missing or an additional member.
    @Test func examples_areInvalid_withAMissingOrAdditionalMember() {
        for (place, type, media) in mediaTypes where type.hasSuffix("json") && !place.hasPrefix("GET /openapi.json") {
            for example in document.examples(of: media) {
                guard case .object(let members) = example else { continue }
                let schema = document.resolved(media["schema"])
                #expect(check.faults(example.with("surplus", 1), media["schema"]) != [], "\(place)")
                for name in schema["required"].array.compactMap(\.string) where members[name] != nil {
                    #expect(check.faults(example.without(name), media["schema"]) != [], "\(place) \(name)")
                }
            }
        }
    }
}

extension JSON {
    fileprivate func with(_ name: String, _ value: JSON) -> JSON {
        var copy = self
        copy[name] = value
        return copy
    }
}

@Suite("The description has exactly the routes of the service")
struct DescribedRoutesTests {
    @Test func operations_areExactlyTheRoutes() throws {
        let loop = EventLoop(name: "routes")
        defer { loop.stop() }
        let service = try RegistryAPI.RegistryService.withoutDatabase(on: loop)
        let routes = (service.routes + service.ownConsoleCalls).map(Self.name)
        let document = try OpenAPI(parsing: EmbeddedFile.openAPI.bytes)
        #expect(Set(document.operations.map(\.description)) == Set(routes))
    }

    /// The text of the body, and that of the 413 if it names a size.
    @Test func sizesInTheTexts_areTheLimitsOfTheRoutes() throws {
        let loop = EventLoop(name: "routes")
        defer { loop.stop() }
        let service = try RegistryAPI.RegistryService.withoutDatabase(on: loop)
        let document = try OpenAPI(parsing: EmbeddedFile.openAPI.bytes)
        let operations = Dictionary(uniqueKeysWithValues: document.operations.map { ($0.description, $0) })
        func sizes(_ part: JSON) -> [Int] {
            (part["description"].string ?? "").matches(of: /(\d+) (KiB|MiB)/)
                .map { (Int($0.1) ?? 0) << ($0.2 == "KiB" ? 10 : 20) }
        }
        for route in service.routes + service.ownConsoleCalls {
            guard let operation = operations[Self.name(route)]?.json else { continue }
            #expect(sizes(operation["requestBody"]) == (route.bodyBytesMax > 0 ? [route.bodyBytesMax] : []), "\(route)")
            let refusal = document.resolved(operation["responses"]["413"])
            #expect([[], [route.bodyBytesMax]].contains(sizes(refusal)), "\(Self.name(route)): \(refusal)")
        }
    }

    private static func name(_ route: Route) -> String { "\(route.method.rawValue) \(route.pattern)" }

    /// The console has its own calls, and every call of the API that takes a credential.
    @Test func callsOfTheConsole_areThoseOfTheAPI() throws {
        let loop = EventLoop(name: "routes")
        defer { loop.stop() }
        let service = try RegistryAPI.RegistryService.withoutDatabase(on: loop)
        let shared = service.routes.filter { $0.pattern.hasPrefix("/v1/") && $0.pattern != "/v1/receipts" }
        let expected = shared.map { "\($0.method.rawValue) /console\($0.pattern)" }
        #expect(Set(service.consoleCalls.map(Self.name)) == Set(expected + service.ownConsoleCalls.map(Self.name)))
    }
}
