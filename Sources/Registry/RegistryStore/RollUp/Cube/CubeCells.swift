import PostgresClient
import PushRegistry

/// The cells of an app's cube by column. A cell keeps its index; new ones are appended.
struct CubeCells: Sendable {
    /// A text of cells (`rollup_text`), which never changes.
    struct Text: Sendable {
        let text: String
        let locale: LocaleIdentifier
        /// Nil for a text that is no version.
        let version: Version?

        init(_ text: String) {
            self.text = text
            locale = LocaleIdentifier(text)
            version = Version(text)
        }
    }

    /// By their indices among the cases.
    private(set) var providers: [Int32] = []
    private(set) var authorizations: [Int32] = []
    /// Whether the user allows pushes: `rollup_cell.is_admitted`.
    private(set) var isAdmitted: [Bool] = []
    /// Indices of texts. Those of an overflow cell are 0, which is no text.
    private(set) var locales: [Int32] = []
    private(set) var zones: [Int32] = []
    private(set) var systems: [Int32] = []
    private(set) var spellings: [Int32] = []
    /// 0: the text is no version.
    private(set) var versions: [Int32] = []
    /// The offset that was sent, if the zone is unknown. Else 0.
    private(set) var offsets: [Int32] = []
    private(set) var texts = [Text("")]
    /// The cells that stand for several, of which only the provider and the authorization are known.
    private(set) var overflowCells: [Int32] = []

    private var indices: [Int64: Int32] = [:]
    private var textIndices: [Int64: Int32] = [0: 0]
    /// The numbers of texts that `texts` does not have yet.
    private var missingTexts: [Int64] = []

    /// About the memory of a cell and of a text.
    private static let (bytesOfCell, bytesOfText) = (72, 160)

    var count: Int { providers.count }
    var bytes: Int { count * Self.bytesOfCell + texts.count * Self.bytesOfText }

    /// The cells' numbers, by index.
    var numbers: [Int64] {
        var numbers = [Int64](repeating: 0, count: count)
        for (number, index) in indices { numbers[Int(index)] = number }
        return numbers
    }

    func has(_ provider: Provider?) -> Bool {
        provider.flatMap(Provider.allCases.firstIndex).map { providers.contains(Int32($0)) } ?? false
    }

    func has(_ status: AuthorizationStatus?) -> Bool {
        status.flatMap(AuthorizationStatus.allCases.firstIndex).map { authorizations.contains(Int32($0)) } ?? false
    }

    /// The index of a row's cell.
    ///
    /// - Parameter first: the first of the columns `CubeStatements.cell`.
    mutating func index(of number: Int64, _ row: PostgresRow, from first: Int) throws -> Int32 {
        if let index = indices[number] { return index }
        let (provider, status) = (try row.decode(first, as: String.self), try row.decode(first + 1, as: String.self))
        guard let provider = Self.providers[provider], let authorization = Self.authorizations[status] else {
            throw StoreError.failed("unknown provider or authorization")
        }
        let index = Int32(count)
        providers.append(provider)
        authorizations.append(authorization)
        isAdmitted.append(try row.decode(first + 2))
        locales.append(textIndex(try row.decode(first + 3)))
        zones.append(textIndex(try row.decode(first + 4)))
        systems.append(textIndex(try row.decode(first + 5)))
        spellings.append(textIndex(try row.decode(first + 6)))
        versions.append(textIndex(try row.decode(first + 7)))
        offsets.append(try row.decode(first + 8))
        if locales[Int(index)] == 0 { overflowCells.append(index) }
        indices[number] = index
        return index
    }

    /// Nil for a cell that is not in the cube.
    func index(of number: Int64) -> Int32? { indices[number] }

    private mutating func textIndex(_ number: Int64) -> Int32 {
        if let index = textIndices[number] { return index }
        let index = Int32(textIndices.count)
        textIndices[number] = index
        missingTexts.append(number)
        return index
    }

    /// The statement that reads the texts of new cells; nil if all are known. Its result goes to `read(texts:)`.
    func texts(of app: AppNumber) -> PostgresStatement? {
        missingTexts.isEmpty ? nil : CubeStatements.texts(app.rawValue, missingTexts)
    }

    /// - Parameter rows: of `texts(of:)`.
    mutating func read(texts rows: PostgresResult) throws {
        var found: [Int64: Text] = [:]
        for row in rows { found[try row.decode(0)] = Text(try row.decode(1)) }
        for number in missingTexts {
            guard let text = found[number] else { throw StoreError.failed("a cell's text is missing") }
            texts.append(text)
        }
        missingTexts = []
    }

    private static let providers = codes(of: Provider.self)
    private static let authorizations = codes(of: AuthorizationStatus.self)

    private static func codes<Name: CaseIterable & RawRepresentable<String>>(of: Name.Type) -> [String: Int32] {
        Dictionary(uniqueKeysWithValues: zip(Name.allCases.map(\.rawValue), 0...))
    }
}
