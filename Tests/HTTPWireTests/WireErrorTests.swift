import HTTPTypes
import HTTPWire
import Testing

@Suite("An error has the status of its response")
struct WireErrorTests {
    @Test(arguments: WireError.Reason.allCases)
    func error_hasAnErrorStatus_aCodeAndASentence(_ reason: WireError.Reason) {
        let error = WireError(reason)
        #expect([400, 413, 414, 417, 431, 501, 505].contains(error.status.code))
        #expect(error.detail.hasSuffix(".") || error.detail.hasSuffix("?"))
        #expect("\(error)" == reason.rawValue)
        #expect(reason.rawValue.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") })
    }
}
