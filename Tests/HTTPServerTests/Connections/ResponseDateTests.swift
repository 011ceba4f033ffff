import Testing

@testable import HTTPServer

@Suite("Dates of responses")
struct ResponseDateTests {
    @Test func dateIsRendered_asInTheStandard() {
        #expect(String(decoding: ResponseDate.render(784_111_777), as: UTF8.self) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
