import Basics
import Foundation
import Glibc
import HTTPServer
import RegistryTestSupport
import Testing

@testable import HTTPFetch

@Suite("A fetch returns the document or the reason of the failure", .timeLimit(.minutes(5)))
struct HTTPFetchTests {
    private let fetch = patient(HTTPFetch(bytesMax: 1_000, peers: .publicAndPrivate, userAgent: "tests"))

    /// A busy machine may take long to respond.
    private static func patient(_ fetch: HTTPFetch) -> HTTPFetch {
        var fetch = fetch
        fetch.timeout = .seconds(120)
        return fetch
    }

    @Test func document_hasItsMaxAge() async throws {
        let server = try WebServer()
        server.setResponse("keys", .init(fields: [("Cache-Control", "public, max-age=600")], body: "hello"))
        #expect(
            try await fetch.document(at: server.url("keys"))
                == FetchedDocument(bytes: Array("hello".utf8), maxAge: .seconds(600)))
        server.setResponse("keys", .init(body: String(repeating: "x", count: 1_000)))
        let second = try await fetch.document(at: server.url("keys"))
        #expect(second.bytes.count == 1_000 && second.maxAge == nil)
    }

    @Test func document_isRefused_whenItIsTooLarge() async throws {
        let server = try WebServer()
        server.setResponse("keys", .init(body: String(repeating: "x", count: 1_001)))
        await #expect(throws: FetchFailure.tooLarge(bytesMax: 1_000)) {
            try await fetch.document(at: server.url("keys"))
        }
    }

    @Test(arguments: [204, 401, 404, 500]) func fetch_fails_unlessTheStatusIs200(status: Int) async throws {
        let server = try WebServer()
        server.setResponse("keys", .init(status))
        await #expect(throws: FetchFailure.status(status)) { try await fetch.document(at: server.url("keys")) }
    }

    @Test func fetch_ends_whenTheServerIsSlow() async throws {
        let server = try WebServer()
        server.setResponse("keys", .never)
        var fetch = fetch
        fetch.timeout = .milliseconds(200)
        await #expect(throws: FetchFailure.self) { try await fetch.document(at: server.url("keys")) }
    }

    @Test func fetch_fails_whenTheConnectionIsRefused() async throws {
        let url = try WebServer().url("keys")
        await #expect(throws: FetchFailure.self) { try await fetch.document(at: url) }
    }

    /// The certificate is self-signed and has another name.
    @Test func certificate_isVerified_unlessThePeerIsTheOwnService() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = TLSFiles(
            certificateChain: folder.appending(path: "cert.pem").path,
            privateKey: folder.appending(path: "key.pem").path)
        let made = system(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=tests "
                + "-keyout \(files.privateKey) -out \(files.certificateChain) 2> /dev/null")
        #expect(made == 0)
        let server = try WebServer(tls: files)
        server.setResponse("keys", .init(body: "hello"))
        let url = server.url("keys", scheme: "https")
        await #expect(throws: FetchFailure.self) { try await fetch.document(at: url) }
        #expect(server.requests == 0)
        let own = Self.patient(HTTPFetch(bytesMax: 1_000, peers: .ownService, userAgent: "tests"))
        #expect(try await own.document(at: url).bytes == Array("hello".utf8))
    }

    // MARK: Forms

    @Test func form_isPosted_withTheSendersCredentials() async throws {
        let server = try WebServer()
        server.setPostHandler { body, authorization in .init(body: "\(authorization ?? "none") \(body)") }
        let fields = [(name: "code", value: "a b&c=%"), ("name", "Zoë")]
        let plain = try await fetch.document(at: server.url("token"), posting: PostedForm(fields))
        #expect(String(decoding: plain.bytes, as: UTF8.self) == "none code=a%20b%26c%3D%25&name=Zo%C3%AB")
        let sender = (name: "me", secret: "a:b %")
        let signed = try await fetch.document(at: server.url("token"), posting: PostedForm([], as: sender))
        let credentials = Data("me:a%3Ab%20%25".utf8).base64EncodedString()
        #expect(String(decoding: signed.bytes, as: UTF8.self) == "Basic \(credentials) ")
    }

    /// It would lead the credentials elsewhere.
    @Test func form_isNotPostedElsewhere_whenItIsRedirected() async throws {
        let server = try WebServer()
        server.setPostHandler { _, _ in .init(307, fields: [("Location", "/keys")]) }
        server.setResponse("keys", .init(body: "hello"))
        await #expect(throws: FetchFailure.status(307)) {
            try await fetch.document(at: server.url("token"), posting: PostedForm([]))
        }
        #expect(server.requests == 1)
    }

    // MARK: Redirects

    @Test func redirect_isFollowed_toTheSameScheme_untilTheLimit() async throws {
        let server = try WebServer()
        server.setResponse(
            "old", .init(302, fields: [("Location", "/keys"), ("Cache-Control", "max-age=9")], body: "moved"))
        server.setResponse("keys", .init(body: "hello"))
        #expect(
            try await fetch.document(at: server.url("old"))
                == FetchedDocument(bytes: Array("hello".utf8), maxAge: nil))
        server.setResponse("keys", .init(302, fields: [("Location", "/old")]))
        await #expect(throws: FetchFailure.self) { try await fetch.document(at: server.url("old")) }
        #expect(server.requests == 2 + 1 + HTTPFetch.redirectsMax)
    }

    @Test(arguments: ["https://127.0.0.1:PORT/keys", "file:///etc/hostname", "ftp://127.0.0.1:PORT/keys"])
    func redirect_isNotFollowed_toAnotherScheme(location: String) async throws {
        let server = try WebServer()
        let location = location.replacing("PORT", with: "\(server.port)")
        server.setResponse("old", .init(302, fields: [("Location", location)]))
        server.setResponse("keys", .init(body: "hello"))
        await #expect(throws: FetchFailure.self) { try await fetch.document(at: server.url("old")) }
        #expect(server.requests == 1)
    }

    /// Where a cloud has the service that hands out credentials.
    @Test func redirect_isNotFollowed_toAnAddressThatMayNotBeCalled() async throws {
        let server = try WebServer()
        server.setResponse("old", .init(302, fields: [("Location", "http://169.254.169.254/latest/meta-data")]))
        await #expect(throws: FetchFailure.refusedAddress("169.254.169.254")) {
            try await fetch.document(at: server.url("old"))
        }
    }

    // MARK: Addresses

    @Test func thisMachine_isNotCalled_unlessAllowed() async throws {
        let server = try WebServer()
        server.setResponse("keys", .init(body: "hello"))
        let fetch = HTTPFetch(bytesMax: 1_000, peers: .publicOnly, userAgent: "tests")
        await #expect(throws: FetchFailure.refusedAddress("127.0.0.1")) {
            try await fetch.document(at: server.url("keys"))
        }
        for url in ["https://127.0.0.1:\(server.port)/", "https://[::ffff:127.0.0.1]:\(server.port)/"] {
            await #expect(throws: FetchFailure.self) { try await fetch.document(at: url) }
        }
        #expect(server.requests == 0)
    }

    /// Without TLS, nothing proves who sent the response.
    @Test func plainHTTP_leadsToThisMachineOnly() async throws {
        await #expect(throws: FetchFailure.refusedAddress("10.0.0.1")) {
            try await fetch.document(at: "http://10.0.0.1/keys")
        }
        await #expect(throws: FetchFailure.refusedAddress("192.88.98.1")) {
            try await fetch.document(at: "http://192.88.98.1/keys")
        }
    }

    @Test(arguments: [
        ("127.0.0.1", Reach.loopback), ("127.255.255.254", .loopback), ("::1", .loopback),
        ("::ffff:127.0.0.1", .loopback), ("10.1.2.3", .privateNetwork), ("172.16.0.1", .privateNetwork),
        ("172.31.255.255", .privateNetwork), ("192.168.1.1", .privateNetwork), ("100.64.0.1", .privateNetwork),
        ("fd00::1", .privateNetwork), ("fc00::1", .privateNetwork), ("::ffff:10.0.0.1", .privateNetwork),
        ("64:ff9b::10.0.0.1", .privateNetwork), ("2002:0a00:0001::1", .privateNetwork), ("0.0.0.0", .special),
        ("169.254.169.254", .special), ("224.0.0.1", .special), ("255.255.255.255", .special), ("::", .special),
        ("fe80::1", .special), ("ff02::1", .special), ("2001:db8::1", .special), ("::ffff:169.254.1.1", .special),
        ("192.0.2.1", .special), ("172.32.0.1", .global), ("172.15.0.1", .global), ("100.128.0.1", .global),
        ("8.8.8.8", .global), ("2606:4700::1111", .global), ("::ffff:8.8.8.8", .global), ("2001:4860::1", .global),
    ])
    func address_hasItsReach(text: String, reach: Reach) throws {
        #expect(try #require(IPAddress(text)).reach == reach)
    }

    @Test func cacheControl_hasTheMaxAge() {
        let ages: [(String, Duration?)] = [
            ("max-age=600", .seconds(600)), (" public , Max-Age = 5 ", .seconds(5)), ("max-age=\"7\"", .seconds(7)),
            ("max-age=1, max-age=2", .seconds(1)), ("no-store, max-age=600", .zero), ("no-cache", .zero),
            ("public", nil), ("", nil), ("max-age", nil), ("max-age=-1", nil), ("max-age=1.5", nil),
            ("s-maxage=9", nil),
            ("max-age=99999999999999999999999", .seconds(Int64(Int32.max))),
        ]
        for (value, age) in ages { #expect(CacheControl(value).maxAge == age, "\(value)") }
    }
}
