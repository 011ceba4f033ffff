import Basics
import Glibc
import HTTPTypes
import Testing

@testable import HTTPApplication
@testable import HTTPServer

@Suite("A connection that the system cannot watch ends alone", .timeLimit(.minutes(5)))
struct UnwatchedConnectionTests {
    /// epoll_ctl(2) refuses a regular file (`EPERM`); full memory (`ENOMEM`, `ENOSPC`) takes the same way.
    @Test func connectionIsClosed_andItsLoopServesOthers() async {
        let events = EventLog()
        let other = PairedConnection([Route(.get, "/hello", constant: .text("hello"))])
        other.execute {
            let transport = PlainTransport(descriptor: open("/proc/self/exe", O_RDONLY | O_CLOEXEC))
            let address = SocketAddress(ip: IPAddress("192.0.2.1")!, port: 1)
            let connection = HTTPConnection(transport, address: address, context: other.context) { _ in
                events.add("closed")
            }
            connection.start()
            if transport.descriptor < 0 { events.add("descriptor closed") }
            other.receive("/hello")
        }
        #expect(await other.text(until: "hello").hasPrefix("HTTP/1.1 200"))
        #expect(events.count("closed") == 1)
        #expect(events.count("descriptor closed") == 1)
    }
}
