import Basics
import PushRegistry
import Testing

@Suite("Segments expand to their filters, and never contain themselves (fine print 35, 41)")
struct SegmentExpansionTests {
    private func name(_ text: String) throws -> SegmentName { try SegmentName(text) }

    private func naming(_ text: String) throws -> AudienceFilter {
        .segment(SegmentReference(name: try name(text), pointer: "/\(text)"))
    }

    private func reference(_ text: String) throws -> SegmentReference {
        SegmentReference(name: try name(text), pointer: "/\(text)")
    }

    private func values(_ count: Int) -> AudienceFilter {
        .condition(.carrier, .oneOf((0..<count).map { .text(ExactText("\($0)")) }))
    }

    @Test func segment_isExpanded_anywhereInAFilter() throws {
        var expansion = SegmentExpansion([
            try name("a"): .not(try naming("b")), try name("b"): values(2), try name("everybody"): .everybody,
        ])
        let (filter, faults) = expansion.expand(
            .any([try naming("a"), .all([try naming("b"), try naming("everybody")])]))
        #expect(filter == .any([.not(values(2)), values(2)]) && faults.isEmpty)
    }

    @Test func fault_names_theReferenceThatWasSent() throws {
        var expansion = SegmentExpansion([
            try name("a"): try naming("b"), try name("b"): try naming("a"), try name("c"): .everybody,
        ])
        #expect(expansion.expand(try naming("a")).faults == [.cycle(try reference("a"))])
        #expect(
            expansion.expand(.all([try naming("x"), try naming("y")])).faults
                == [.unknown(try reference("x")), .unknown(try reference("y"))])
        #expect(expansion.expand(try naming("c"), savedAs: try name("c")).faults == [.cycle(try reference("c"))])
        #expect(expansion.expand(try naming("c")).faults == [])
    }

    @Test func values_areCounted_forEachReferenceToASegment() throws {
        var expansion = SegmentExpansion([try name("a"): values(500)])
        #expect(expansion.expand(.any([try naming("a"), .not(try naming("a"))])).faults == [])
        #expect(expansion.expand(.any([try naming("a"), try naming("a"), values(1)])).faults == [.tooManyValues])
    }

    /// 2 to the power of 15 values: the limit must be found without creating them.
    @Test func doubling_isRefused_beforeItIsExpanded() throws {
        var definitions = [try name("s0"): values(1)]
        for step in 1...15 {
            definitions[try name("s\(step)")] = .all([try naming("s\(step - 1)"), .not(try naming("s\(step - 1)"))])
        }
        var expansion = SegmentExpansion(definitions)
        #expect(expansion.expand(try naming("s15")).faults == [.tooManyValues])
        #expect(expansion.expand(try naming("s9")).faults == [])
    }

    /// Simplification drops the parts beside a constant.
    @Test func faults_areFound_behindConstants() throws {
        let hiding: [(AudienceFilter) -> AudienceFilter] = [
            { .any([.everybody, $0]) }, { .all([.nobody, $0]) }, { .all([.condition(.locale, .oneOf([])), $0]) },
            { .not(.any([.not(.nobody), $0])) },
        ]
        for hide in hiding {
            var expansion = SegmentExpansion([
                try name("a"): hide(try naming("a")), try name("wide"): hide(values(501)),
            ])
            #expect(expansion.expand(hide(try naming("x"))).faults == [.unknown(try reference("x"))])
            #expect(expansion.expand(try naming("a")).faults == [.cycle(try reference("a"))])
            #expect(
                expansion.expand(hide(try naming("s")), savedAs: try name("s")).faults == [.cycle(try reference("s"))])
            #expect(expansion.expand(.all([try naming("wide"), hide(try naming("wide"))])).faults == [.tooManyValues])
            #expect(expansion.expand(try naming("wide")).faults == [])
        }
    }

    @Test func nesting_isRefused_beyondItsLimit() throws {
        var definitions = [try name("s0"): values(1)]
        for step in 1...SegmentExpansion.nestingMax {
            definitions[try name("s\(step)")] = .all([try naming("s\(step - 1)")])
        }
        var expansion = SegmentExpansion(definitions)
        #expect(expansion.expand(try naming("s15")).faults == [])
        #expect(expansion.expand(try naming("s16")).faults == [.tooDeep(try reference("s16"))])
    }
}
