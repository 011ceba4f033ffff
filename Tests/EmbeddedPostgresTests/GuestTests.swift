import Foundation
import Testing

@testable import EmbeddedPostgres

@Suite("Another process may use a server, and its owner waits for it where it may")
struct GuestTests {
    @Test func guest_findsNoServer_whereNoneRuns() async throws {
        try await withFolder { folder in
            for place in [folder, "\(folder)/missing"] {
                let joined = try await EmbeddedPostgres.join(serverIn: place)
                #expect(joined == nil)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
            try await EmbeddedPostgres.start(folder).stop()
            let joined = try await EmbeddedPostgres.join(serverIn: folder)
            #expect(joined == nil)
        }
    }

    @Test func owner_waitsForItsGuests_andLetsNoneJoinThen() async throws {
        try await withFolder { folder in
            let server = try await EmbeddedPostgres.start(folder)
            var guests = [
                try await EmbeddedPostgres.join(serverIn: folder), try await EmbeddedPostgres.join(serverIn: folder),
            ]
            #expect(guests.allSatisfy { $0?.connectionString == server.connectionString })
            let (waits, told) = AsyncStream<Void>.makeStream()
            let ending = Task {
                await server.waitForGuests { told.yield() }
                try await server.stop()
            }
            for await _ in waits { break }
            for _ in guests.indices {
                try await server.expect("SELECT 1", over: guests[guests.count - 1]?.connectionString, is: "1")
                guests.removeLast()
            }
            try await ending.value
            #expect(await !server.isRunning)
            let joined = try await EmbeddedPostgres.join(serverIn: folder)
            #expect(joined == nil)
            try await withServer(in: folder) { _ in
                let joined = try await EmbeddedPostgres.join(serverIn: folder)
                #expect(joined != nil)
            }
        }
    }

    @Test func owner_doesNotWait_whereNobodyIs() async throws {
        try await withFolder { folder in
            let server = try await EmbeddedPostgres.start(folder)
            await server.waitForGuests { Issue.record("there is no guest") }
            let joined = try await EmbeddedPostgres.join(serverIn: folder)
            #expect(joined == nil)
            try await server.stop()
        }
    }
}
