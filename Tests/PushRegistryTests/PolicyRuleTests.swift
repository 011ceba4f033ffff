import Basics
import PushRegistry
import Testing

@Suite("A policy is consistent by construction")
struct PolicyRuleTests {
    @Test func standard_hasTheDocumentedDefaults() throws {
        let policy = AppPolicy.standard
        #expect(policy.touchInterval == .hours(24))
        #expect(
            Provider.allCases.map { policy.staleAfter[$0] } == [.days(60), .days(30), .days(60), .days(60), .days(60)])
        #expect(policy.retention == .days(30) && policy.grace == .days(7) && policy.sessionTombstones == .days(400))
        #expect(!policy.storesAdvertisingID && policy.allowedOrigins.isEmpty && policy.jwks == nil)
        #expect(policy.rateLimits == AppPolicy.RateLimits())
        #expect(try AppPolicy(AppPolicy.Draft()) == policy)
        #expect(try AppPolicy(AppPolicy.Draft(policy)) == policy)
    }

    @Test func groups_give_theUnionOfTheirRoles() throws {
        var draft = AppPolicy.Draft()
        draft.consoleGroups = [
            "marketers": .marketing, "helpers": .support, "staff": .support, "caf\u{E9}": .admin,
            "cafe\u{301}": .sender,
        ]
        let policy = try AppPolicy(draft)
        func roles(_ groups: [ExactText]) -> Set<Role> {
            policy.roles(of: ConsolePerson(issuer: "https://a", subject: "1", name: "Ada", groups: groups))
        }
        #expect(roles(["staff", "marketers", "Helpers"]) == [.marketing, .support])
        #expect(roles(["cafe\u{301}"]) == [.sender], "names are compared by their bytes")
        #expect(roles(["other"]).isEmpty && roles([]).isEmpty)
    }

    @Test(arguments: ["https://app.example.com", "http://localhost:5173", "https://[::1]:8443", "*"])
    func origin_isAccepted_asBrowsersSendIt(origin: String) throws {
        var draft = AppPolicy.Draft()
        draft.allowedOrigins = [origin]
        #expect(try AppPolicy(draft).allowedOrigins == [origin])
    }

    @Test func origin_isAllowed_whenItIsListedExactly() throws {
        var draft = AppPolicy.Draft()
        draft.allowedOrigins = ["https://app.example.com", "http://localhost:5173"]
        let policy = try AppPolicy(draft)
        #expect(policy.allows(origin: "https://app.example.com") && policy.allows(origin: "http://localhost:5173"))
        for origin in ["https://app.example.com:8443", "http://app.example.com", "https://app.example.co", "null", ""] {
            #expect(!policy.allows(origin: origin))
        }
        draft.allowedOrigins = ["*"]
        #expect(try AppPolicy(draft).allows(origin: "https://anybody.example"))
        #expect(!AppPolicy.standard.allows(origin: "https://app.example.com"))
    }

    @Test(arguments: [
        "", "null", "app.example.com", "https://a/", "https://a/b", "https://A", "https://*.a", "https://a?b",
    ])
    func origin_isRefused_whenItIsNotOne(origin: String) {
        var draft = AppPolicy.Draft()
        draft.allowedOrigins = [origin]
        #expect(draft.faults.map(\.pointer) == ["/allowedOrigins/0"])
    }
}
