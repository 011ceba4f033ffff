import CPostgres

/// The non-blocking steps of `COPY … TO STDOUT`: <https://www.postgresql.org/docs/15/libpq-copy.html>. Pipeline mode
/// knows no COPY, so the connection leaves it meanwhile.
extension ConnectionHandle {
    /// Leaves pipeline mode, in which nothing may be under way, and sends the statement.
    func sendCopy(_ text: String) -> Bool {
        PQexitPipelineMode(connection) == 1 && PQsendQuery(connection, text) == 1
    }

    enum CopyReply {
        /// Nothing more has arrived.
        case wait
        /// The rows have their bytes.
        case full
        /// All rows were taken, and the connection is in pipeline mode again.
        case end
        case failure(PostgresError)
    }

    /// Takes what has arrived.
    ///
    /// - Parameter bytesMax: takes no further row once the rows have so many.
    func takeCopy(_ phase: inout CopyPhase, into rows: inout PostgresCopyRows, bytesMax: Int) -> CopyReply {
        while true {
            switch phase {
            case .beginning:
                guard PQisBusy(connection) == 0 else { return .wait }
                if let error = verdict(expecting: PGRES_COPY_OUT) { return .failure(error) }
                phase = .rows
            case .rows:
                guard rows.bytes.count < bytesMax else { return .full }
                switch takeRow(into: &rows) {
                case 0: return .wait
                case -1: phase = .ending
                case -2: return .failure(lost())
                default: break
                }
            case .ending:
                guard PQisBusy(connection) == 0 else { return .wait }
                if let error = verdict(expecting: PGRES_COMMAND_OK) { return .failure(error) }
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

    /// - Returns: what `PQgetCopyData` returns: the bytes of a row, or why there is none.
    private func takeRow(into rows: inout PostgresCopyRows) -> CInt {
        var row: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(connection, &row, 1)
        if count > 0 {
            rows.append(UnsafeRawBufferPointer(start: row, count: Int(count)))
            PQfreemem(row)
        }
        return count
    }

    /// Takes a result; nil where it is as it should be.
    private func verdict(expecting status: ExecStatusType) -> PostgresError? {
        guard let result = PQgetResult(connection) else { return lost() }
        guard PQresultStatus(result) != status else {
            PQclear(result)
            return nil
        }
        guard case .failure(let error) = ResultHandle(result).outcome else {
            return PostgresError(.protocolViolation, message: "this is no COPY … TO STDOUT")
        }
        return error
    }
}

/// How far a COPY is.
enum CopyPhase {
    /// It is sent; whether the server begins is not known yet.
    case beginning
    case rows
    /// The server has sent all rows, or broken off; its verdict is to come.
    case ending
    case ended
}
