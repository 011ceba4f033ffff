import PushRegistry
import RegistryTestSupport
import StrictJSON
import Testing

@testable import RegistryAPI

extension ConsoleTests {
    /// The builder shows and edits every valid filter, and what it writes means the same to the service.
    @Suite("Filters as sentences")
    struct FilterModelTests {
        @Test func everyValidFilter_keepsItsMeaning_throughSentences() async throws {
            var random = RandomConsoleFilter(seed: 18)
            let filters = (0..<250).map { _ in random.filter() }
            let written = try await Self.written(filters)
            try #require(written.count == filters.count)
            for (filter, result) in zip(filters, written) {
                let before = try Self.meaning(filter)
                #expect(try Self.meaning(result[0]) == before, "\(filter.text) became \(result[0].text)")
                #expect(result[1] == result[0], "\(filter.text)")
            }
        }

        @Test func everyPointer_ofTheService_leadsToItsSentence() async throws {
            let filter: JSON = ["any": [["locale": "de"], ["osVersion": ["gte": "17", "lt": "18"]]], "carrier": "A"]
            let found = try await Console.shared.evaluate(
                """
                const {treeOf, written, nodeAt, nodesOf} = await module('filter/tree.js');
                const tree = treeOf(arguments[0]);
                const {places} = written(tree);
                return arguments[1].map((pointer) => {
                  const node = [...nodesOf(tree)].find((node) => node.id === nodeAt(pointer, places));
                  return `${node.field ?? node.mode} ${node.operator ?? ''}`.trim();
                });
                """, filter, ["/any/1/osVersion/lt", "/any/0/locale", "/carrier", "/any/1", "/any", ""])
            #expect(found == ["osVersion lt", "locale is", "carrier is", "all", "all", "all"])
        }

        @Test func fieldsAndOperators_areThoseOfTheService() async throws {
            let fields = try await Console.shared.evaluate(
                """
                const fields = await module('filter/fields.js');
                // Ids of users are always lists.
                const plain = (field, ...names) => names.slice(fields.kindOf(field) === 'user');
                const listed = Object.values(fields.fieldGroups).flat();
                return Object.fromEntries(fields.fieldNames.map((field) => [field, {
                  listed: listed.includes(field), choices: fields.choicesOf(field),
                  groups: fields.isDiscrete(field),
                  operators: [...new Set(fields.operatorsOf(field).flatMap((operator) => ({
                    is: plain(field, 'eq', 'in'), isNot: plain(field, 'ne', 'nin'),
                    known: ['exists'], unknown: ['exists'],
                  })[operator] ?? [operator]))].sort(),
                }]));
                """)
            #expect(Set(fields.object.keys) == Set(AudienceField.allCases.map(\.rawValue)))
            for field in AudienceField.allCases {
                let page = fields[field.rawValue]
                #expect(page["listed"] == true, "\(field) is in no group of the builder")
                #expect(page["groups"] == .boolean(field.isDiscrete), "\(field)")
                #expect(page["operators"].array.compactMap(\.string) == field.operators.map(\.rawValue).sorted())
                if case .choice(let names) = field.kind {
                    #expect(page["choices"].array.compactMap(\.string) == names)
                } else {
                    #expect(page["choices"] == .null)
                }
            }
        }

        /// Each filter after the page has read and written it, and after it did so again.
        private static func written(_ filters: [JSON]) async throws -> [JSON] {
            try await Console.shared.evaluate(
                """
                const {treeOf, filterOf, isComplete} = await module('filter/tree.js');
                const read = (filter) => {
                  const tree = treeOf(filter);
                  if (!isComplete(tree)) throw new Error(`incomplete: ${JSON.stringify(filter)}`);
                  return filterOf(tree);
                };
                return arguments[0].map(read).map((filter) => [filter, read(filter)]);
                """, .array(filters)
            ).array
        }

        /// What the service understands, without the order of parts.
        private static func meaning(_ filter: JSON) throws -> AudienceFilter {
            let document = try JSONDocument(Array(filter.text.utf8), depthMax: 32, refusesNull: true)
            let read = FilterReader(vocabulary: try vocabulary()).filter(document.root)
            try document.check()
            return normal(read)
        }

        private static func vocabulary() throws -> FilterVocabulary {
            let topics = try RandomConsoleFilter.topics.enumerated().map { index, slug in
                Topic(
                    number: TopicNumber(Int32(index + 1)), slug: try TopicSlug(slug),
                    content: try Topic.Content(
                        name: slug, description: nil, category: nil, isInByDefault: true, isLocked: false))
            }
            return FilterVocabulary(links: try TimeZoneLinks(), topics: TopicCatalogue(topics))
        }

        private static func normal(_ filter: AudienceFilter) -> AudienceFilter {
            switch filter {
            case .all(let parts):
                let flat = parts.map(normal).flatMap { part -> [AudienceFilter] in
                    if case .all(let inner) = part { inner } else { [part] }
                }
                return .allOf(sorted(flat))
            case .any(let parts): return .anyOf(sorted(parts.map(normal)))
            case .not(let part):
                let inner = normal(part)
                if case .not(let twice) = inner { return twice }
                return .negation(inner)
            case .condition(_, .oneOf(let values)): return values.isEmpty ? .nobody : filter
            case .condition: return filter
            case .segment(let reference): return .segment(SegmentReference(name: reference.name, pointer: ""))
            }
        }

        private static func sorted(_ parts: [AudienceFilter]) -> [AudienceFilter] {
            parts.sorted { "\($0)" < "\($1)" }
        }
    }
}
