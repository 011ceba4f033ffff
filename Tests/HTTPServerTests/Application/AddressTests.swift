import HTTPWire
import Testing

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
    ]) func clientIsTheLastUntrustedAddress_whenProxiesForward(
        _ peer: String, _ list: String, _ client: String
    ) throws {
        var configuration = HTTPServerConfiguration(addresses: [])
        configuration.trustedProxies = [AddressRange("10.0.0.0/8")!, AddressRange("fd00::/8")!]
        let head = try RequestHead.make(fields: ["X-Forwarded-For: \(list)"])
        #expect(configuration.clientAddress(head, peer: IPAddress(peer)!).description == client)
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
}
