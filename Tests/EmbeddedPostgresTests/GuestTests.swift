import Foundation
import Testing

@testable import EmbeddedPostgres

@Suite("Other processes can use a server, and its owner can wait for them")
struct GuestTests {
    @Test func join_returnsNil_whenNoServerRuns() async throws {
        try await withFolder { folder in
            for directory in [folder, "\(folder)/missing"] {
                let joined = try await EmbeddedPostgres.join(serverIn: directory)
                #expect(joined == nil)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
            try await EmbeddedPostgres.start(folder).stop()
            let joined = try await EmbeddedPostgres.join(serverIn: folder)
            #expect(joined == nil)
        }
    }

    @Test func owner_waitsForGuests_andThenRefusesNewOnes() async throws {
        try await withFolder { folder in
            let server = try await EmbeddedPostgres.start(folder)
            var guests = [
                try await EmbeddedPostgres.join(serverIn: folder), try await EmbeddedPostgres.join(serverIn: folder),
            ]
            #expect(guests.allSatisfy { $0?.connectionString == server.connectionString })
            let (waits, reported) = AsyncStream<Void>.makeStream()
            let ending = Task {
                await server.waitForGuests { reported.yield() }
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

    @Test func owner_doesNotWait_withoutGuests() async throws {
        try await withFolder { folder in
            let server = try await EmbeddedPostgres.start(folder)
            await server.waitForGuests { Issue.record("there is no guest") }
            let joined = try await EmbeddedPostgres.join(serverIn: folder)
            #expect(joined == nil)
            try await server.stop()
        }
    }
}
