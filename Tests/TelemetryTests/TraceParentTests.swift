import HTTPWire
import Testing

@testable import Telemetry

@Suite("Trace contexts")
struct TraceParentTests {
    @Test func traceIDIsRead_whenTheFieldIsValid() throws {
        let (trace, parent) = (String(repeating: "a1", count: 16), String(repeating: "b2", count: 8))
        let known = try #require(TraceParent(.make(fields: ["Traceparent: 00-\(trace)-\(parent)-01"])))
        #expect(known.traceID == trace)
        for wrong in [
            "00-\(trace)-\(parent)", "ff-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01-x",
            "00-\(String(repeating: "0", count: 32))-\(parent)-01", "00-\(trace.uppercased())-\(parent)-01", "",
        ] {
            #expect(TraceParent(.make(fields: ["Traceparent: \(wrong)"])) == nil)
        }
    }
}
