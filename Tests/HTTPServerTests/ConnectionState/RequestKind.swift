import Basics

/// The kinds of requests in random conversations. Their sizes and other details are random.
enum RequestKind: CaseIterable {
    // Others may follow on the connection.
    case hello, head, options, notFound, big, stream, post, chunks, checked, expecting, dropped, persistentHTTP10
    // The response is the connection's last.
    case malformed, http10, streamForHTTP10, tooLarge, tooLargeChunk, expectingTooLarge
    // The response depends on whether the body arrives with the head: there may be no interim response, or the
    // connection may go on.
    case expectingChecked, refused

    static let lasting: [RequestKind] = [
        .hello, .head, .options, .notFound, .big, .stream, .post, .chunks, .checked, .expecting, .dropped,
        .persistentHTTP10,
    ]
    static let closing: [RequestKind] = [
        .malformed, .http10, .streamForHTTP10, .tooLarge, .tooLargeChunk, .expectingTooLarge,
    ]

    /// A longer body is refused, and up to this size it is read and dropped.
    static let bodyBytesMax = 10_000
    static let droppedBodyBytesMax = 12_000

    /// The request on the wire, its body included.
    func text(_ random: inout SeededGenerator) -> String {
        let small = Int.random(in: 0...3_000, using: &random)
        return switch self {
        case .hello: "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n"
        case .head: "HEAD /hello HTTP/1.1\r\nHost: t\r\n\r\n"
        case .options: "OPTIONS /post HTTP/1.1\r\nHost: t\r\n\r\n"
        case .notFound: Self.post("/nothing", small)
        case .big: "GET /big HTTP/1.1\r\nHost: t\r\n\r\n"
        case .stream: "GET /stream/\(small) HTTP/1.1\r\nHost: t\r\n\r\n"
        case .post: Self.post("/post", small)
        case .chunks: Self.chunks("4\r\nbody\r\n3;x=y\r\nend\r\n0\r\n\r\n")
        case .checked: Self.post("/private", small)
        case .expecting: Self.post("/post", small, "Expect: 100-continue\r\n")
        case .dropped:
            Self.post("/post", Int.random(in: (Self.bodyBytesMax + 1)...Self.droppedBodyBytesMax, using: &random))
        case .persistentHTTP10: "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        case .malformed: Self.malformedRequests.randomElement(using: &random) ?? ""
        case .http10: "GET /hello HTTP/1.0\r\n\r\n"
        case .streamForHTTP10: "GET /stream/\(small) HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        case .tooLarge: Self.post("/post", Self.droppedBodyBytesMax + 1 + small)
        case .tooLargeChunk:
            Self.chunks("4\r\nbody\r\n2ee1\r\n" + String(repeating: "x", count: 12_001) + "\r\n0\r\n\r\n")
        case .expectingTooLarge: Self.post("/post", Self.bodyBytesMax + 1 + small, "Expect: 100-continue\r\n")
        case .expectingChecked: Self.post("/private", small, "Expect: 100-continue\r\n")
        case .refused: Self.post("/refused", small)
        }
    }

    /// The possible statuses of the final response.
    var statuses: Set<Int> {
        switch self {
        case .options: [204]
        case .notFound: [404]
        case .malformed: [400, 414, 417, 431, 501, 505]
        case .dropped, .tooLarge, .tooLargeChunk, .expectingTooLarge: [413]
        case .refused: [401]
        default: [200]
        }
    }

    private static func post(_ path: String, _ bodyBytes: Int, _ fields: String = "") -> String {
        "POST \(path) HTTP/1.1\r\nHost: t\r\nContent-Length: \(bodyBytes)\r\n\(fields)\r\n"
            + String(repeating: "x", count: bodyBytes)
    }

    private static func chunks(_ body: String) -> String {
        "POST /post HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    }

    private static let malformedRequests = [
        "nonsense\r\n\r\n", "\r\n\r\n\r\n\r\n\r\nGET /hello HTTP/1.1\r\nHost: t\r\n\r\n",
        "GET  /hello HTTP/1.1\r\nHost: t\r\n\r\n", "GET /hello HTTP/2.0\r\nHost: t\r\n\r\n",
        "CONNECT t:1 HTTP/1.1\r\nHost: t\r\n\r\n", "GET /hello HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: t\r\nHost: u\r\n\r\n", "GET /hello HTTP/1.1\r\nHost: t\r\n folded\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost : t\r\n\r\n", "GET /\(String(repeating: "x", count: 9_000)) HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: t\r\n\(String(repeating: "X: y\r\n", count: 101))\r\n",
        "POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n",
        "POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx",
        "POST /post HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nExpect: more\r\n\r\nx",
        chunks("size\r\n"), chunks("1\r\nbody\r\n"),
    ]
}

extension RequestKind {
    /// The requests of one conversation. Some end it, and others follow anyway.
    static func requests(
        _ random: inout SeededGenerator, without excluded: Set<RequestKind> = []
    ) -> [String] {
        (0..<Int.random(in: 1...12, using: &random)).compactMap { _ in
            let kinds = Int.random(in: 0..<10, using: &random) == 0 ? closing : lasting
            let kind = kinds.randomElement(using: &random) ?? .hello
            return excluded.contains(kind) ? nil : kind.text(&random)
        }
    }
}
