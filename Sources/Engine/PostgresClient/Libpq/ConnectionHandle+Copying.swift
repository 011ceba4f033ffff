import CPostgres

/// The non-blocking steps of `COPY … TO STDOUT`: <https://www.postgresql.org/docs/15/libpq-copy.html>. Pipeline mode
/// does not support COPY, so the connection leaves it until the COPY has ended.
extension ConnectionHandle {
    /// Leaves pipeline mode and sends the statement. Nothing may be in flight.
    func sendCopy(_ text: String) -> Bool {
        PQexitPipelineMode(connection) == 1 && PQsendQuery(connection, text) == 1
    }

    enum CopyReply {
        /// Nothing more has arrived.
        case wait
        /// The rows have `bytesMax` bytes.
        case full
        /// All rows were read, and the connection is in pipeline mode again.
        case end
        case failure(PostgresError)
    }

    /// Reads the rows that have arrived.
    ///
    /// - Parameter bytesMax: once `rows` has this many bytes, no further row is added.
    func readCopy(_ phase: inout CopyPhase, into rows: inout PostgresCopyRows, bytesMax: Int) -> CopyReply {
        while true {
            switch phase {
            case .beginning:
                guard PQisBusy(connection) == 0 else { return .wait }
                if let error = failure(unless: PGRES_COPY_OUT) { return .failure(error) }
                phase = .rows
            case .rows:
                guard rows.bytes.count < bytesMax else { return .full }
                switch readRow(into: &rows) {
                case 0: return .wait
                case -1: phase = .ending
                case -2: return .failure(lost())
                default: break
                }
            case .ending:
                guard PQisBusy(connection) == 0 else { return .wait }
                if let error = failure(unless: PGRES_COMMAND_OK) { return .failure(error) }
                phase = .ended
            case .ended:
                // The NULL that ends the command.
                guard PQisBusy(connection) == 0 else { return .wait }
                guard PQgetResult(connection) == nil, PQenterPipelineMode(connection) == 1 else {
                    return .failure(lost())
                }
                return .end
            }
        }
    }

    /// - Returns: the result of `PQgetCopyData`: the number of bytes of a row, or a code of 0 or less.
    private func readRow(into rows: inout PostgresCopyRows) -> CInt {
        var row: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(connection, &row, 1)
        if count > 0 {
            rows.append(UnsafeRawBufferPointer(start: row, count: Int(count)))
            PQfreemem(row)
        }
        return count
    }

    /// Reads a result; nil if it has the expected status.
    private func failure(unless status: ExecStatusType) -> PostgresError? {
        guard let result = PQgetResult(connection) else { return lost() }
        guard PQresultStatus(result) != status else {
            PQclear(result)
            return nil
        }
        guard case .failure(let error) = ResultHandle(result).outcome else {
            return PostgresError(.protocolViolation, message: "not a COPY … TO STDOUT")
        }
        return error
    }
}

/// The progress of a COPY.
enum CopyPhase {
    /// The statement is sent; the server has not responded yet.
    case beginning
    case rows
    /// The server has sent all rows, or has stopped; its final result has not arrived yet.
    case ending
    case ended
}
