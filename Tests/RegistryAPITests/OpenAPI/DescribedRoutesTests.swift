import EventLoop
import HTTPApplication
import HTTPTypes
import RegistryTestSupport
import Testing

@testable import RegistryAPI

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
