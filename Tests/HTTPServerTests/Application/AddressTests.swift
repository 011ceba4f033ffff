import Glibc
import HTTPWire
import Logging
import Testing

@testable import Basics
@testable import HTTPServer

@Suite("Addresses and the headers of proxies")
struct AddressTests {
    @Test(arguments: [
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.1,10.0.0.2", "198.51.100.1"),
        ("10.0.0.1", "10.0.0.3 , 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "1.1.1.1, nonsense", "10.0.0.1"),
        ("10.0.0.1", "1.1.1.1, unknown, 10.0.0.2", "10.0.0.2"),
        ("fd00::1", "2001:db8::5", "2001:db8::5"),
        // Azure's Application Gateway and IIS write the port.
        ("10.0.0.1", "1.1.1.1, 203.0.113.10:5555", "203.0.113.10"),
        ("10.0.0.1", "[2001:db8::7]:443, 10.0.0.2:80", "2001:db8::7"), ("10.0.0.1", "[2001:db8::7]", "2001:db8::7"),
        ("10.0.0.1", "\"203.0.113.14\", \"[fd00::2]\"", "203.0.113.14"),
        ("10.0.0.1", "203.0.113.10:99999", "10.0.0.1"), ("10.0.0.1", "proxy.example:80", "10.0.0.1"),
    ]) func clientIsTheLastUntrustedAddress_whenProxiesForward(
        _ peer: String, _ list: String, _ client: String
    ) throws {
        var configuration = HTTPServerConfiguration(addresses: [])
        configuration.trustedProxies = [AddressRange("10.0.0.0/8")!, AddressRange("fd00::/8")!]
        let head = try RequestHead.make(fields: ["X-Forwarded-For: \(list)"])
        #expect(configuration.clientAddress(head, peer: IPAddress(peer)!).description == client)
    }

    @Test func untrustedForwarding_isReportedOnce_thenAtMostEveryHour() {
        let forwarding = UntrustedForwarding(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let start = ContinuousClock.now
        let due = [0, 1, 3_599, 3_600, 7_199, 7_200].map { forwarding.isDue(at: start + .seconds($0)) }
        #expect(due == [true, false, false, true, false, true])
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("0.0.0.0/0", "9.9.9.9", true),
        ("0.0.0.0/0", "::1", false), ("::/0", "::1", true), ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("::ffff:10.0.0.1", "10.0.0.1", true),
    ]) func rangeContainsAnAddress_whenTheirPrefixesAreEqual(_ range: String, _ address: String, _ isIn: Bool) {
        #expect(AddressRange(range)?.contains(IPAddress(address)!) == isIn)
    }

    @Test(arguments: ["10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "::/129", "t", "10.0.0.0/-1"])
    func rangeIsRefused_whenItIsMalformed(_ text: String) {
        #expect(AddressRange(text) == nil)
    }

    @Test func listenAddressIsParsed() {
        #expect(ListenAddress("127.0.0.1:8080") == ListenAddress(host: "127.0.0.1", port: 8080))
        #expect(ListenAddress("[::1]:8080") == ListenAddress(host: "::1", port: 8080))
        #expect(ListenAddress(":0") == ListenAddress(host: "", port: 0))
        #expect(ListenAddress("[::1]:8080")?.description == "[::1]:8080")
        for wrong in ["8080", "::1:8080", "localhost", "localhost:99999", "localhost:-1", ""] {
            #expect(ListenAddress(wrong) == nil)
        }
    }

    @Test func addressesPrintUnchanged_whenTheyAreCanonical() {
        for text in ["127.0.0.1", "::1", "2001:db8::1:0:0:1", "255.255.255.255", "::"] {
            #expect(IPAddress(text)?.description == text)
        }
    }

    /// In a debug build, an aligned load would trap at seven of these eight places.
    @Test func ipv6AddressIsRead_atAnyAlignment() {
        let address: [UInt8] = [0x20, 0x01, 0x0d, 0xb8] + (1...12)
        for offset in 0..<MemoryLayout<UInt64>.alignment {
            let memory = UnsafeMutableRawBufferPointer.allocate(
                byteCount: offset + address.count, alignment: MemoryLayout<UInt64>.alignment)
            defer { memory.deallocate() }
            let place = UnsafeMutableRawBufferPointer(rebasing: memory[offset...])
            place.copyBytes(from: address)
            #expect(
                IPAddress(ipv6: UnsafeRawBufferPointer(place)).description == "2001:db8:102:304:506:708:90a:b0c")
        }
    }

    @Test func socketAddressIsRead_ofEitherFamily() {
        var (storage, v6) = (sockaddr_storage(), sockaddr_in6())
        v6.sin6_family = sa_family_t(AF_INET6)
        v6.sin6_port = UInt16(443).bigEndian
        inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr)
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v6, as: sockaddr_in6.self) }
        #expect(SocketAddress(storage)?.description == "[2001:db8::1]:443")
        var v4 = sockaddr_in()
        v4.sin_family = sa_family_t(AF_INET)
        v4.sin_port = UInt16(80).bigEndian
        inet_pton(AF_INET, "192.0.2.1", &v4.sin_addr)
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v4, as: sockaddr_in.self) }
        #expect(SocketAddress(storage)?.description == "192.0.2.1:80")
        storage.ss_family = sa_family_t(AF_UNIX)
        #expect(SocketAddress(storage) == nil)
    }
}
