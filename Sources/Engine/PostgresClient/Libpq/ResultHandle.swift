import CPostgres

/// The owner of one `PGresult`: <https://www.postgresql.org/docs/15/libpq-exec.html>. It never changes after libpq has
/// created it, so any thread may read it.
@usableFromInline
final class ResultHandle: @unchecked Sendable {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) {
        self.result = result
    }

    deinit {
        PQclear(result)
    }

    enum Outcome {
        case success
        /// Not executed, because an earlier command of the unit failed.
        case skipped
        case failure(PostgresError)
    }

    var outcome: Outcome {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: .success
        case PGRES_PIPELINE_ABORTED: .skipped
        case PGRES_FATAL_ERROR: .failure(error)
        default: .failure(PostgresError(.protocolViolation, message: "COPY is not possible here"))
        }
    }

    var isCopyIn: Bool { PQresultStatus(result) == PGRES_COPY_IN }

    /// The connection is in COPY mode, and returns this result again and again.
    var isCopy: Bool { isCopyIn || PQresultStatus(result) == PGRES_COPY_OUT }

    var rowCount: Int { Int(PQntuples(result)) }

    var columnCount: Int { Int(PQnfields(result)) }

    var commandTag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    /// 0 for commands that affect no rows.
    var affectedRows: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    @usableFromInline
    func hasColumn(_ column: Int) -> Bool { column >= 0 && column < columnCount }

    func columnName(_ column: Int) -> String {
        PQfname(result, CInt(column)).map { String(cString: $0) } ?? ""
    }

    @usableFromInline
    func columnType(_ column: Int) -> PostgresType {
        PostgresType(rawValue: PQftype(result, CInt(column)))
    }

    /// The bytes of a field, valid as long as this object lives; nil for NULL, and if there is no such field.
    @usableFromInline
    func field(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        // It also returns 1 for a field that does not exist.
        guard PQgetisnull(result, CInt(row), CInt(column)) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result, CInt(row), CInt(column)),
            count: Int(PQgetlength(result, CInt(row), CInt(column))))
    }

    private var error: PostgresError {
        PostgresError(
            PostgresError.ServerFields(
                sqlState: diagnostic("C"), message: diagnostic("M"), constraint: diagnostic("n"),
                column: diagnostic("c"), function: diagnostic("R")))
    }

    /// A field of the error, by the letter of its `PG_DIAG_…` code.
    private func diagnostic(_ letter: Unicode.Scalar) -> String {
        PQresultErrorField(result, CInt(letter.value)).map { String(cString: $0) } ?? ""
    }
}
