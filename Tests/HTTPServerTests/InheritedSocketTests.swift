import Testing

@testable import HTTPServer

@Suite("Sockets that are passed to the process (sd_listen_fds(3))")
struct InheritedSocketTests {
    private func announced(_ processID: String?, _ count: String?, _ names: String? = nil) -> [InheritedSocket] {
        InheritedSocket.announced(processID, count: count, names: names, processID: 42)
    }

    @Test func socketsBeginAtThree_withTheirNames_whenTheyAreForThisProcess() {
        let sockets = announced("42", "3", "http::admin")
        #expect(sockets.map(\.descriptor) == [3, 4, 5])
        #expect(sockets.map(\.name) == ["http", "unknown", "admin"])
    }

    @Test(arguments: [(nil, nil), ("41", "1"), ("42", nil), ("42", "0"), ("42", "-1"), ("42", "1000000"), ("x", "1")])
    func nothingIsTaken_whenItIsNotForThisProcess(processID: String?, count: String?) {
        #expect(announced(processID, count).isEmpty)
    }
}
