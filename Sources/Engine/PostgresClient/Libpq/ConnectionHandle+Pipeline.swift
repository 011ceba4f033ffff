import COpenSSL
import CPostgres

/// The non-blocking steps of pipeline mode: <https://www.postgresql.org/docs/15/libpq-pipeline-mode.html>. Each returns
/// false if libpq reports a failure, which for these calls means that the connection is lost.
extension ConnectionHandle {
    private static let binary: CInt = 1

    func enterPipelineMode() -> Bool {
        PQsetnonblocking(connection, 1) == 0 && PQenterPipelineMode(connection) == 1
    }

    func sendPrepare(_ name: String, _ statement: PostgresStatement) -> Bool {
        parameters.with(statement.binds) {
            PQsendPrepare(connection, name, statement.text, CInt(statement.binds.count), $0.types) == 1
        }
    }

    func sendExecute(_ name: String, _ binds: PostgresBinds) -> Bool {
        parameters.with(binds) {
            PQsendQueryPrepared(
                connection, name, CInt(binds.count), $0.values, $0.lengths, $0.formats, Self.binary) == 1
        }
    }

    /// Parses, binds and executes through the unnamed statement.
    func sendUnprepared(_ statement: PostgresStatement) -> Bool {
        parameters.with(statement.binds) {
            PQsendQueryParams(
                connection, statement.text, CInt(statement.binds.count), $0.types, $0.values, $0.lengths,
                $0.formats, Self.binary) == 1
        }
    }

    func sendDeallocate(_ name: String) -> Bool {
        PQsendQueryParams(connection, "DEALLOCATE \(name)", 0, nil, nil, nil, nil, Self.binary) == 1
    }

    /// Ends a unit and sends as much as the socket accepts.
    func sendSync() -> Bool {
        PQpipelineSync(connection) == 1
    }

    enum Flush {
        case done
        /// The socket is full. Call again when it is writable, and keep reading meanwhile.
        case pending
        case failed
    }

    func flush() -> Flush {
        switch PQflush(connection) {
        case 0: .done
        case 1: .pending
        default: .failed
        }
    }

    /// Reads what has arrived. libpq takes only as much of a TLS record as fits its buffer; the rest stays in OpenSSL,
    /// where no poller sees it (SSL_pending(3)).
    func consumeInput() -> Bool {
        repeat {
            guard PQconsumeInput(connection) == 1 else { return false }
        } while decryptedByteCount > 0
        return true
    }

    private var decryptedByteCount: CInt {
        guard PQsslInUse(connection) == 1, let ssl = PQsslStruct(connection, "OpenSSL") else { return 0 }
        return SSL_pending(OpaquePointer(ssl))
    }

    enum Reply {
        /// The response is not complete yet.
        case wait
        /// libpq's NULL between the results of two commands.
        case separator
        case result(ResultHandle)
        case synced
    }

    func nextReply() -> Reply {
        guard PQisBusy(connection) == 0 else { return .wait }
        guard let result = PQgetResult(connection) else { return .separator }
        guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else { return .result(ResultHandle(result)) }
        PQclear(result)
        return .synced
    }
}

/// The arrays for `PQsendQueryPrepared` and its relatives: types, values, lengths, formats. They grow, and are freed
/// with their connection.
final class ParameterArrays {
    private(set) var values: UnsafeMutablePointer<UnsafePointer<CChar>?>
    private(set) var lengths: UnsafeMutablePointer<CInt>
    private(set) var formats: UnsafeMutablePointer<CInt>
    private(set) var types: UnsafeMutablePointer<UInt32>
    private var capacity = 64

    init() {
        values = .allocate(capacity: capacity)
        lengths = .allocate(capacity: capacity)
        formats = .allocate(capacity: capacity)
        types = .allocate(capacity: capacity)
    }

    deinit {
        free()
    }

    /// Lends the arrays filled with `binds`; their pointers are valid while `body` runs.
    func with<Value>(_ binds: PostgresBinds, _ body: (ParameterArrays) -> Value) -> Value {
        grow(to: binds.count)
        return binds.buffer.bytes.withUnsafeBytes { bytes in
            for (index, parameter) in binds.parameters.enumerated() { set(index, parameter, in: bytes) }
            return body(self)
        }
    }

    private func set(_ index: Int, _ parameter: PostgresBinds.Parameter, in bytes: UnsafeRawBufferPointer) {
        let length = Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: parameter.offset, as: Int32.self))
        let field = bytes.baseAddress.map { $0 + parameter.offset + 4 }
        values[index] = length < 0 ? nil : field?.assumingMemoryBound(to: CChar.self)
        lengths[index] = max(0, length)
        formats[index] = 1
        types[index] = parameter.type.rawValue
    }

    private func grow(to count: Int) {
        guard count > capacity else { return }
        free()
        capacity = count
        values = .allocate(capacity: capacity)
        lengths = .allocate(capacity: capacity)
        formats = .allocate(capacity: capacity)
        types = .allocate(capacity: capacity)
    }

    private func free() {
        values.deallocate()
        lengths.deallocate()
        formats.deallocate()
        types.deallocate()
    }
}
