import Glibc
import Testing

@testable import HTTPServer

@Suite("Sockets passed to the process (sd_listen_fds(3))")
struct InheritedSocketTests {
    private func announced(_ processID: String?, _ count: String?, _ names: String? = nil) -> [InheritedSocket] {
        InheritedSocket.announced(processID, count: count, names: names, processID: 42)
    }

    @Test func socketsStartAtDescriptorThree_withTheirNames() {
        let sockets = announced("42", "3", "http::admin")
        #expect(sockets.map(\.descriptor) == [3, 4, 5])
        #expect(sockets.map(\.name) == ["http", "unknown", "admin"])
    }

    @Test(arguments: [(nil, nil), ("41", "1"), ("42", nil), ("42", "0"), ("42", "-1"), ("42", "1000000"), ("x", "1")])
    func nothingIsAdopted_whenItIsNotForThisProcess(processID: String?, count: String?) {
        #expect(announced(processID, count).isEmpty)
    }

    @Test func descriptorIsRefused_whenItDoesNotListen() {
        let idle = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        let local = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        let file = open("/dev/null", O_RDONLY)
        for descriptor in [idle, local, file, 9_999] {
            #expect(throws: InheritedSocketError.self) {
                try InheritedSocket(descriptor: descriptor, name: "http").adopt()
            }
            close(descriptor)
        }
    }
}
