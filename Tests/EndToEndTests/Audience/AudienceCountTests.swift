import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Counts and breakdowns are exact at every moment (R13, R16, fine print 28 to 37)")
    struct AudienceCountTests {
        @Test func count_matchesTheFilter_inBodyAndQuery() async throws {
            let app = try await RegistryApp.make()
            try await app.register([
                ("a", [:]), ("b", ["locale": "de_AT", "systemVersion": "17.10"]),
                ("c", ["locale": "den", "systemVersion": "17.9"]), ("d", ["locale": "en_US", "carrier": nil]),
            ])
            #expect(try await app.count([:]) == 4)
            #expect(try await app.count(["locale": "de"]) == 2)
            #expect(try await app.count(["osVersion": ["gte": "17.10"]]) == 3)
            #expect(try await app.count(["carrier": ["ne": "Example"]]) == 1)
            #expect(try await app.count(["not": ["carrier": ["ne": "Example"]]]) == 3)
            #expect(try await app.count(["locale": ["en", "de-AT"], "timeZone": "Europe/Berlin"]) == 2)
            for (query, count) in [
                ("locale=de", 2), ("locale=de_DE&locale=en", 2), ("locale.in=de_DE,en", 2), ("osVersion.gte=17.10", 3),
                ("carrier.exists=false", 1), ("localTime.between=00:00,24:00", 4), ("lastSeenAt.within=P1D", 4),
                ("", 4),
                ("locale.nin=de,en&include=active", 1), ("provider=apns&utcOffset.lte=7200", 4),
                ("providesAppNotificationSettings=true", 4),
            ] {
                let response = try await app.send("GET", "/audience/count?\(query)", by: .role(.marketing))
                #expect(response.json["count"].integer == Int64(count), "\(query): \(response.text)")
                #expect(response.json["asOf"].string?.hasSuffix("Z") == true)
            }
        }

        /// PostgreSQL refuses results that it cannot represent.
        @Test func circle_isCounted_howeverSmallItsNumbers() async throws {
            let app = try await RegistryApp.make()
            try await app.register([("a", [:])])
            let least = Double.leastNonzeroMagnitude
            for degrees in [least, -least, 1e-300, 1e-155, 0] {
                for radius in [least, 1e-160, 1, 20_038] {
                    let circle: JSON = [
                        "latitude": .number(degrees), "longitude": .number(degrees), "radiusKm": .number(radius),
                    ]
                    #expect(try await app.count(["location": ["near": circle]]) == (radius > 20_000 ? 1 : 0))
                }
            }
        }

        @Test func query_isRefused_andListsEveryFault() async throws {
            let app = try await RegistryApp.make()
            let response = try await app.send(
                "GET",
                "/audience/count?colour=red&osVersion.gte=x&location.near=1&carrier.gt=a&include=some&segment=none",
                by: .role(.marketing))
            #expect(response.status == 400 && response.code == "invalid-parameter")
            #expect(
                response.faults == [
                    "colour unknown-parameter", "location.near unknown-parameter", "osVersion.gte invalid-version",
                    "carrier.gt operator-not-allowed", "include unknown-value",
                ])
            for (query, fault) in [
                ("segment=none", "segment unknown-segment"), ("segment=two%20words", "segment invalid-segment-name"),
                ("utcOffset=east", "utcOffset out-of-range"), ("userId.exists=1", "userId.exists wrong-type"),
                ("providesAppNotificationSettings=1", "providesAppNotificationSettings wrong-type"),
                ("localTime.between=09:00", "localTime.between invalid-local-time"),
                ("localTime.between=09:00,9", "localTime.between invalid-local-time"),
                ("lastSeenAt.within=P1M", "lastSeenAt.within invalid-duration"),
                ("osVersion.gt=1&osVersion.gt=2", "osVersion.gt invalid-parameter"),
                ("carrier.in=a,\(String(repeating: "b", count: 257))", "carrier.in too-long"),
                ("carrier.ne=a&carrier.ne=%22", nil), ("include=all&include=all", "include unknown-value"),
                ("region.in=\((0...1_000).map { "\($0)" }.joined(separator: ","))", " too-wide"),
            ] {
                let response = try await app.send("GET", "/audience/count?\(query)", by: .role(.marketing))
                #expect(response.faults == [fault].compactMap(\.self), "\(query)")
            }
        }

        @Test(arguments: [
            ("?carrier.gt=A", nil, "carrier supports: eq, exists, in, ne, nin."),
            ("?lastSeenAt.withn=P3D", nil, "lastSeenAt supports: eq, exists, gt,"),
            ("?carier=A", nil, "Did you mean carrier?"), ("?segment=none", nil, "/segments lists them."),
            ("", #"{"filter":{},"by":["carier"]}"#, "Did you mean carrier?"),
            ("", #"{"filter":{},"by":["userId"]}"#, "The names are: provider, locale,"),
        ])
        func faults_listTheChoices(query: String, body: String?, words: String) async throws {
            let app = try await RegistryApp.make()
            let response =
                if let body {
                    try await app.send(
                        "POST", "/audience/breakdown", try JSON(parsing: body.utf8), by: .role(.marketing))
                } else {
                    try await app.send("GET", "/audience/count" + query, by: .role(.marketing))
                }
            #expect(response.status == 400 && response.text.contains(words), "\(response.text)")
        }

        @Test func include_selectsWhichInstallationsCount() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("allowed", as: "alice")
            _ = try await app.put(
                "denied",
                SampleRegistration.make("denied", settings: SampleRegistration.settings(authorizationStatus: "denied")))
            _ = try await app.put("gone", as: "bob")
            _ = try await app.send("POST", "/users/bob/logout")
            #expect(try await app.count([:]) == 1)
            #expect(try await app.count([:], include: "active") == 2)
            #expect(try await app.count([:], include: "all") == 3)
            #expect(try await app.count(["userId": ["exists": true]], include: "all") == 1)
        }

        @Test func expiredSession_isNotReachable_fromItsExpiryOn() async throws {
            let app = try await RegistryApp.make()
            let expiry = Date.now.addingTimeInterval(10)
            var request = app.registration("phone", as: "alice", session: "s")
            request.fields.append(("X-Session-Expires-At", expiry.formatted(.iso8601)))
            #expect(try await app.registry.client.response(to: request).status == 201)
            #expect(try await app.count([:]) == 1)
            try await eventually("the session expires") { try await app.count([:]) == 0 }
            #expect(try await app.count(["carrier": ["exists": true]]) == 0)
            #expect(try await app.count([:], include: "active") == 1)
        }

        @Test func breakdown_isLargestFirst_withItsRest() async throws {
            let app = try await RegistryApp.make()
            try await app.register([
                ("a", ["locale": "de_DE", "region": nil]), ("b", ["locale": "de_DE"]), ("c", ["locale": "fr_FR"]),
                ("d", ["locale": "en_US", "systemVersion": "beta"]),
            ])
            let byLocale = try await app.ask("breakdown", ["filter": [:], "by": ["locale"], "limit": 2]).json
            #expect(
                byLocale["groups"] == [["locale": "de_DE", "count": 2], ["locale": "en_US", "count": 1]])
            #expect(byLocale["rest"] == ["groups": 1, "count": 1] && byLocale["total"] == 4)
            let byRegion = try await app.ask("breakdown", ["filter": ["locale": "de"], "by": ["region", "utcOffset"]])
                .json
            let offset = byRegion["groups"][0]["utcOffset"].integer
            #expect(offset == 3600 || offset == 7200)
            #expect(byRegion["groups"].array.map { $0["region"] } == ["DE", nil])
            let byVersion = try await app.ask("breakdown", ["filter": [:], "by": ["osVersion"]]).json
            #expect(
                byVersion["groups"] == [["osVersion": "26.5", "count": 3], ["osVersion": nil, "count": 1]])
            let flags = try await app.ask("breakdown", ["filter": [:], "by": ["providesAppNotificationSettings"]]).json
            #expect(flags["groups"] == [["providesAppNotificationSettings": true, "count": 4]])
        }

        @Test func equalVersions_areOneGroup() async throws {
            let app = try await RegistryApp.make()
            try await app.register([
                ("a", ["systemVersion": "17.0"]), ("b", ["systemVersion": "17"]), ("c", ["systemVersion": "17.0.1"]),
            ])
            let response = try await app.ask("breakdown", ["filter": [:], "by": ["osVersion"]]).json
            #expect(response["groups"] == [["osVersion": "17", "count": 2], ["osVersion": "17.0.1", "count": 1]])
        }

        @Test(arguments: [
            (#"{"filter":{}}"#, "/by required"), (#"{"filter":{},"by":[]}"#, "/by required"),
            (#"{"filter":{},"by":["lastSeenAt"]}"#, "/by/0 unknown-field"),
            (#"{"filter":{},"by":["userId"]}"#, "/by/0 unknown-field"),
            (#"{"filter":{},"by":["locale","locale"]}"#, "/by/1 duplicate-member"),
            (#"{"filter":{},"by":["locale","region","carrier","language"]}"#, "/by too-many"),
            (#"{"filter":{},"by":["locale"],"limit":1001}"#, "/limit out-of-range"),
            (#"{"by":["locale"]}"#, "/filter required"),
        ])
        func breakdown_isRefused_whenItsMembersDoNotFit(body: String, fault: String) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.ask("breakdown", try JSON(parsing: Array(body.utf8)))
            #expect(response.status == 400 && response.faults == [fault], "\(response.text)")
        }

        @Test func explanation_hasThePath() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            func path(_ filter: JSON) async throws -> String? {
                let response = try await app.ask("count", ["filter": filter, "explain": true]).json
                #expect(response["explain"]["estimatedRows"].integer ?? -1 >= 0)
                return response["explain"]["path"].string
            }
            #expect(try await path(["locale": "de", "localTime": ["between": ["00:00", "24:00"]]]) == "rollUp")
            #expect(try await path(["carrier": "x"]) != "rollUp")
            #expect(try await app.ask("count", ["filter": [:]]).json["explain"] == .null)
        }
    }
}
