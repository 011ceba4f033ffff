import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("No race breaks the numbers, or shows a notification to another owner (fine print 61, 63, 65)")
    struct NotificationRaceTests {
        private static let rounds = 6

        @Test func sixtyFourPosts_toOneInstallation_haveNumbersWithoutGapOrDuplicate() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone(as: "alice")
            for round in 0..<Int64(Self.rounds) {
                let entries = try await race(64) { number in
                    let addressee: JSON =
                        switch number % 3 {
                        case 0: ["installId": "phone"]
                        case 1: ["userId": "alice"]
                        default: ["userIds": ["alice", "nobody"]]
                        }
                    return try await app.post(to: addressee, .integer(Int64(number)))
                }.map { $0.json["notifications"][0] }
                let numbers = entries.compactMap { $0["number"].integer }.sorted()
                #expect(numbers == Array(round * 64 + 1...round * 64 + 64))
                #expect(entries.allSatisfy { $0["previous"].integer == $0["number"].integer.map { $0 - 1 } })
                let fetched = try await app.fetch("phone", after: round * 64, by: key)
                #expect(fetched.numbers == numbers)
                #expect(Set(fetched.json["notifications"].array.map { $0["payload"] }).count == 64)
            }
        }

        @Test func repeatedPost_isStoredOnce_howeverManyArriveTogether() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone()
            for round in 0..<Self.rounds {
                let entries = try await race(32) { _ in
                    try await app.post(toPhone: "phone", "x", ["dedupId": .string("d\(round)")])
                }
                #expect(Set(entries).count == 1)
            }
            #expect(try await app.fetch("phone", by: key).numbers == Array(1...Int64(Self.rounds)))
        }

        @Test func firstPosts_ofNewEpochs_shareOneCounter() async throws {
            let app = try await RegistryApp.make()
            for round in 0..<Self.rounds {
                try await app.phone(as: "user-\(round)")
                let numbers = try await race(16) { _ in try await app.post(toPhone: "phone")["number"].integer ?? 0 }
                #expect(numbers.sorted() == Array(1...16))
            }
        }

        /// Alice's notifications are for her: a fetch by her key shows all of them, or is refused.
        @Test func fetch_duringATakeover_returnsAllOfAlicesNotifications_orIsRefused() async throws {
            let app = try await RegistryApp.make()
            for round in 0..<Self.rounds {
                let phone = "phone-\(round)"
                let alice = try await app.phone(phone, as: "alice")
                for _ in 0..<5 { try await app.post(toPhone: phone, "alice") }
                let responses = try await race(24) { number -> HTTPResponse? in
                    switch number {
                    case 8:
                        let body = SampleRegistration.make("bob-\(round)", token: SampleRegistration.token(phone))
                        _ = try await app.put("bob-\(round)", body, as: "bob")
                        return nil
                    case 9:
                        _ = try await app.put(phone, as: "bob")
                        return nil
                    case 10..<14:
                        _ = try await app.post(to: ["installId": .string(phone)], "later")
                        return nil
                    default: return try await app.fetch(phone, by: alice)
                    }
                }
                for response in responses.compactMap(\.self) {
                    if response.status == 401 { continue }
                    let payloads = response.json["notifications"].array.map { $0["payload"] }
                    #expect(response.status == 200 && payloads.prefix(5).allSatisfy { $0 == "alice" })
                    #expect(response.numbers == Array(1...Int64(response.numbers.count)) && payloads.count >= 5)
                }
            }
            try await app.expectNoForeignNotification()
        }

        @Test func post_duringALogout_leavesNoRows() async throws {
            let app = try await RegistryApp.make()
            for round in 0..<Self.rounds * 2 {
                let phones = (0..<8).map { "phone-\($0)" }
                for phone in phones { try await app.phone(phone, as: "alice") }
                if round % 2 == 0 { _ = try await app.post(to: ["userId": "alice"], "first") }
                let statuses = try await race(32) { number in
                    let phone = phones[number % 8]
                    switch number / 8 {
                    case 0: return try await app.send("POST", "/installations/\(phone)/logout", [:]).status
                    case 1: return try await app.post(to: ["userId": "alice"], "x", ["dedupId": "d"]).status
                    default: return try await app.post(to: ["installId": .string(phone)]).status
                    }
                }
                #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
                #expect(try await app.notificationRows() == 0)
            }
        }

        @Test func collapseAndLimit_duringFetches_neverReturnAnIncompletePage() async throws {
            let app = try await RegistryApp.make(policy: ["notificationsMax": 5])
            let key = try await app.phone()
            for round in 0..<Self.rounds {
                let responses = try await race(48) { number -> HTTPResponse? in
                    if number % 3 == 0 { return try await app.fetch("phone", by: key) }
                    let more: [String: JSON] = number % 3 == 1 ? ["collapseId": "c"] : [:]
                    try await app.post(toPhone: "phone", "x", more)
                    return nil
                }
                for response in responses.compactMap(\.self) {
                    #expect(response.status == 200 || response.status == 410)
                    let numbers = response.numbers
                    #expect(numbers == numbers.sorted() && numbers.count <= 5)
                    #expect(numbers.last ?? 0 <= response.json["last"].integer ?? -1)
                }
                let last = try await app.fetch("phone", by: .role(.service)).json["last"].integer ?? 0
                #expect(last == Int64((round + 1) * 32))
                _ = try await app.fetch("phone", after: last, by: key)
            }
        }

        /// Everything that was posted is fetched once, in order, by a client that acknowledges what it has.
        @Test func acknowledgement_duringPosts_losesNothing() async throws {
            let app = try await RegistryApp.make(policy: ["notificationsMax": 1_000])
            let key = try await app.phone()
            let posted = Counter()
            let seen = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<40 {
                            try await app.post(toPhone: "phone")
                            posted.increment()
                        }
                        return []
                    }
                }
                group.addTask {
                    var seen: [Int64] = []
                    while true {
                        let isLast = posted.count == 160
                        let response = try await app.fetch("phone", after: seen.last ?? 0, limit: 50, by: key)
                        try #require(response.status == 200)
                        seen += response.numbers
                        if isLast, response.numbers.isEmpty { return seen }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(seen == Array(1...160))
        }
    }
}

extension RegistryApp {
    /// Every row belongs to the present epoch of its installation.
    fileprivate func expectNoForeignNotification() async throws {
        let strays = try await database.count(
            """
            SELECT count(*) FROM notification n
                LEFT JOIN notification_counter c ON c.app_id = n.app_id AND c.install_id = n.install_id
                LEFT JOIN installation i
                    ON i.app_id = n.app_id AND i.install_id = n.install_id AND i.epoch = c.epoch
            WHERE n.app_id = \(try await number()) AND i.install_id IS NULL
            """)
        #expect(strays == 0)
    }
}
