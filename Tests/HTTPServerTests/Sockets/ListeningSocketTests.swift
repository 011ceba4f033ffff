import Glibc
import Testing

@testable import HTTPServer

@Suite("A host is served at the addresses that the machine has")
struct ListeningSocketTests {
    private let localhost = ListenAddress(host: "localhost", port: 8_080)

    /// Opens `::1` and `127.0.0.1`, of which some fail.
    private func open(_ faults: [String: CInt]) throws -> [String] {
        try ListeningSocket.openAvailable(["::1", "127.0.0.1"]) { address in
            if let fault = faults[address] { throw ListenError(localhost, "bind", errno: fault) }
            return address
        }
    }

    @Test(arguments: [EAFNOSUPPORT, EADDRNOTAVAIL])
    func missingAddressIsSkipped_whenAnotherRemains(_ fault: CInt) throws {
        #expect(try open([:]) == ["::1", "127.0.0.1"])
        #expect(try open(["::1": fault]) == ["127.0.0.1"])
        #expect(try open(["127.0.0.1": fault]) == ["::1"])
    }

    @Test func startFails_whenNoAddressRemains() {
        let error = #expect(throws: ListenError.self) {
            try open(["::1": EAFNOSUPPORT, "127.0.0.1": EADDRNOTAVAIL])
        }
        #expect(error?.description == "cannot listen at localhost:8080: bind: Cannot assign requested address")
    }

    @Test(arguments: ["::1", "127.0.0.1"]) func startFails_whenAnAddressIsInUse(_ address: String) {
        #expect(throws: ListenError.self) { try open([address: EADDRINUSE]) }
    }
}
