import PostgresClient
import Testing

@Suite("Units in a pipeline")
struct PipelineTests {
    @Test func units_answerInOrder_whenManyAreInFlight() async throws {
        try await withConnection { connection in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let result = try await connection.execute("SELECT \(number) + 1, \("text \(number)")")
                        return try result[0].decode(0) == number + 1 && result[0].decode(1) == "text \(number)"
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func failure_staysInItsUnit_whenOthersAreInFlight() async throws {
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
            async let good = connection.execute("INSERT INTO t VALUES (\(Int32(1)))")
            async let bad = postgresError {
                _ = try await connection.execute([
                    "INSERT INTO t VALUES (\(Int32(2)))", "INSERT INTO t VALUES (\(Int32(1)))",
                    "SELECT count(*) FROM t",
                ])
            }
            async let after = connection.execute("INSERT INTO t VALUES (\(Int32(3)))")
            #expect(try await good.affectedRows == 1)
            #expect(try await bad.kind == .uniqueViolation(constraint: "t_pkey"))
            #expect(try await after.commandTag == "INSERT 0 1")
            let ids = try await connection.execute("SELECT id FROM t ORDER BY id").map {
                try $0.decode(0, as: Int.self)
            }
            #expect(ids == [1, 3])
        }
    }
}
