import PushRegistry
import Testing

@testable import RegistryAPI

@Suite("A one-time code signs in once, and not for long")
struct OneTimeCodesTests {
    private let start = Timestamp(microseconds: 1_795_262_400_000_000)

    private func after(_ seconds: Int64) -> Timestamp { start.advanced(by: ISO8601Duration(seconds: seconds)) }

    @Test func code_isUsedUp() {
        let codes = OneTimeCodes()
        #expect(codes.redeem("", at: start) == nil)
        let code = codes.issue(for: "key", at: start)
        #expect(codes.redeem(code + "0", at: start) == nil)
        #expect(codes.redeem(code, at: after(1)) == "key")
        #expect(codes.redeem(code, at: after(1)) == nil)
    }

    @Test func code_expires_andIsUsedUpThen() {
        let codes = OneTimeCodes()
        let code = codes.issue(for: "key", at: start)
        #expect(codes.redeem(code, at: after(15 * 60)) == nil)
        #expect(codes.redeem(code, at: start) == nil)
    }

    @Test func newCode_replacesTheFormer() {
        let codes = OneTimeCodes()
        let former = codes.issue(for: "a", at: start)
        let code = codes.issue(for: "b", at: start)
        #expect(codes.redeem(former, at: start) == nil && codes.redeem(code, at: start) == "b")
    }
}
