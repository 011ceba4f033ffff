import Testing

@testable import PostgresClient

@Suite("A connection string keeps what it says, and gets defaults for the rest")
struct ConnectionStringTests {
    private func parameters(of string: String) throws -> [String: String] {
        let text = try ConnectionString(string, applicationName: "registry").text
        return try #require(ConnectionString.parse(text))
    }

    @Test(arguments: ["host=db connect_timeout=9", "postgresql://db/?connect_timeout=9"])
    func missingParts_getDefaults(_ string: String) throws {
        let parameters = try parameters(of: string)
        #expect(parameters["host"] == "db")
        #expect(parameters["connect_timeout"] == "9")
        #expect(parameters["application_name"] == "registry")
        #expect(parameters["tcp_user_timeout"] == "10000")
    }

    @Test func service_decidesWhatTheStringLeavesOut() throws {
        #expect(
            try parameters(of: "service=push host=db") == ["service": "push", "host": "db", "client_encoding": "UTF8"])
    }

    @Test func encoding_isUTF8_whateverTheStringSays() throws {
        #expect(try parameters(of: "client_encoding=LATIN1")["client_encoding"] == "UTF8")
    }

    @Test(arguments: ["it's", "back\\slash", "two words", ""])
    func value_isKept_whenItNeedsQuotes(_ password: String) throws {
        let uri =
            "postgresql://user@db?password="
            + password.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(try parameters(of: uri)["password"] == password)
    }

    @Test func error_doesNotQuoteThePassword() {
        let error = #expect(throws: PostgresError.self) {
            try ConnectionString("password='secret", applicationName: "registry")
        }
        #expect(error.map { "\($0)".contains("secret") } == false)
    }
}
