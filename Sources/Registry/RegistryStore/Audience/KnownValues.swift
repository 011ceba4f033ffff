import Basics
import PostgresClient
import PushRegistry

/// Finds the values of a filter that no installation has. Locales, time zones, systems and versions are looked up in
/// `rollup_text`, which keeps a text for some nights after its last installation has gone; providers, authorizations
/// and offsets in the cells of the cube. Values of other fields are not looked up: that would require a scan.
struct KnownValues {
    /// The number of values of one filter that are looked up; the rest counts as known.
    static let lookedUpMax = 100
    /// The number of reported values.
    static let reportedMax = 10
    /// The nearest value is one of this many most frequent values of the field.
    static let namesMax = 2_000

    private let app: AppNumber
    private let values: [(compared: ComparedValue, text: String, isLocale: Bool)]
    private let valuesOfCells: [ComparedValue]

    init(_ audience: Audience) {
        app = audience.app
        var seen: Set<ComparedValue> = []
        let compared = audience.filter.comparedValues.filter { seen.insert($0).inserted }
        values = compared.lazy.compactMap { value in Self.text(value).map { (value, $0, value.field == .locale) } }
            .prefix(Self.lookedUpMax).map { $0 }
        valuesOfCells = Array(
            compared.filter { [.provider, .authorizationStatus, .utcOffset].contains($0.field) }
                .prefix(Self.lookedUpMax))
    }

    /// Whether values are looked up in the cells of the cube.
    var needsCells: Bool { !valuesOfCells.isEmpty }

    /// Whether they are offsets.
    var needsZones: Bool { valuesOfCells.contains(where: \.field.needsZones) }

    /// The statement that returns the positions of unknown values; none if there is nothing to look up.
    var lookUp: [PostgresStatement] {
        values.isEmpty
            ? [] : [KnownValueStatements.unknown(app.rawValue, values.map(\.text), values.map(\.isLocale))]
    }

    /// The text of a value in the roll-up; nil for a field that is not looked up.
    private static func text(_ compared: ComparedValue) -> String? {
        switch (compared.field, compared.value) {
        case (.locale, .locale(let locale)): locale.text
        case (.timeZone, .text(let text)), (.systemName, .text(let text)): text.text
        case (.osVersion, .version(let version)): version.canonicalText
        default: nil
        }
    }

    /// The unknown values, with the values of the app's installations that are nearest to them.
    ///
    /// - Parameters:
    ///   - positions: those that `lookUp` returned.
    ///   - view: of all installations.
    func unknown(_ positions: [Int], in view: CubeView) -> [UnknownValue] {
        var names: [AudienceField: [String]] = [:]
        let texts = positions.prefix(Self.reportedMax).map { position in
            let (compared, text, _) = values[position - 1]
            let known = names[compared.field] ?? view.names(of: compared.field, countMax: Self.namesMax)
            names[compared.field] = known
            return UnknownValue(compared, nearest: NearestName.of(text, among: known))
        }
        return Array((texts + unknownInCells(of: view)).prefix(Self.reportedMax))
    }

    private func unknownInCells(of view: CubeView) -> [UnknownValue] {
        // The zones of overflow cells are not known.
        let offsets = needsZones && !view.overflows ? CubeFilter(view).offsets : nil
        func isKnown(_ compared: ComparedValue) -> Bool {
            switch (compared.field, compared.value) {
            case (.provider, .text(let name)): view.cells.has(Provider(rawValue: name.text))
            case (.authorizationStatus, .text(let name)): view.cells.has(AuthorizationStatus(rawValue: name.text))
            case (.utcOffset, .offset(let offset)): offsets?.contains(offset) ?? true
            default: true
            }
        }
        return valuesOfCells.filter { !isKnown($0) }.map { compared in
            guard case .choice(let all) = compared.field.kind, case .text(let name) = compared.value else {
                return UnknownValue(compared, nearest: nil)
            }
            let known = all.filter { isKnown(ComparedValue(compared.field, .text(ExactText($0)))) }
            return UnknownValue(compared, nearest: NearestName.of(name.text, among: known))
        }
    }
}

/// The SQL that finds unknown values of a filter. `$1` is the app.
enum KnownValueStatements {
    /// A locale is known if an installation has a locale that it includes: `de` because of `de_DE`. In the collation of
    /// the texts, a grave accent follows the underscore.
    static let unknown = PreparedSQL(
        """
        SELECT v.position
        FROM unnest($2::text[], $3::boolean[]) WITH ORDINALITY AS v (text, is_locale, position)
        WHERE NOT EXISTS (SELECT FROM rollup_text t WHERE t.app_id = $1 AND t.text = v.text)
            AND NOT (v.is_locale AND EXISTS (
                SELECT FROM rollup_text t
                WHERE t.app_id = $1 AND t.text > v.text || '_' AND t.text < v.text || '`'))
        ORDER BY v.position
        """)
}
