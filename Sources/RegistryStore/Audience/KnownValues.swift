import EventLoop
import PostgresClient
import PushRegistry

/// Finds the values of a filter that no installation has. Locales, time zones, systems and versions are looked up in
/// `rollup_text`, which keeps a text after its last installation has gone. Values of other fields are not looked up:
/// that would require a scan.
struct KnownValues {
    /// The number of values of one filter that are looked up; the rest counts as known.
    static let lookedUpMax = 100
    /// The number of reported values.
    static let reportedMax = 10
    /// The nearest value is one of this many most frequent values of the field, or is in one of the newest cells.
    static let namesMax = 2_000
    static let newestCellsMax = 200

    private let app: AppNumber
    private let values: [(compared: ComparedValue, text: String, isLocale: Bool)]

    init(_ audience: Audience) {
        app = audience.app
        var seen: Set<ComparedValue> = []
        var values: [(ComparedValue, String, Bool)] = []
        for compared in audience.filter.comparedValues where values.count < Self.lookedUpMax {
            guard let text = KnownValueStatements.names[compared.field]?.text(compared.value),
                seen.insert(compared).inserted
            else { continue }
            values.append((compared, text, compared.field == .locale))
        }
        self.values = values
    }

    /// The statement that returns the positions of unknown values; nil if there is nothing to look up.
    var lookUp: PostgresStatement? {
        guard !values.isEmpty else { return nil }
        return PostgresStatement(KnownValueStatements.unknown, app.rawValue, values.map(\.text), values.map(\.isLocale))
    }

    /// The unknown values, from the result of `lookUp`. Reads the frequent values of their fields for the nearest ones.
    func unknown(_ rows: PostgresResult, _ connection: PostgresConnection) async throws -> [UnknownValue] {
        let unknown = try rows.prefix(Self.reportedMax).map { values[try $0.decode(0, as: Int.self) - 1] }
        guard !unknown.isEmpty else { return [] }
        let fields = Array(Set(unknown.map(\.compared.field)))
        let statements = fields.compactMap { KnownValueStatements.names[$0]?.sql }
            .map { PostgresStatement($0, app.rawValue) }
        let results = try await connection.execute(statements)
        var names: [AudienceField: [String]] = [:]
        for (field, rows) in zip(fields, results) { names[field] = try rows.map { try $0.decode(0) } }
        return await offLoop { [names] in
            unknown.map { value in
                UnknownValue(
                    value.compared, nearest: NearestName.of(value.text, among: names[value.compared.field] ?? []))
            }
        }
    }
}
