import Basics
import PostgresClient
import PushRegistry
import RegistryStore
import RegistryTestSupport
import Testing

@Suite("Counts, breakdowns, pages and exports of typed tokens agree, row by row (R13)", .stores)
struct TypedAudienceTests {
    private let stores = TestStores.lent!

    private let links: TimeZoneLinks

    init() throws {
        links = try TimeZoneLinks()
    }

    @Test func results_agreeWithTheOracle() async throws {
        let seed = TestSeed.make(for: "TypedAudienceTests")
        var dice = SeededGenerator(seed: seed)
        let fleet = try await stores.makeFleet(150, &dice)
        let tokens = try await stores.giveTypedTokens(to: fleet, &dice)
        let audiences = stores.audiences
        var (partial, fromCube, fromRows) = (0, 0, 0)
        for number in 0..<150 {
            let filter = RandomFilter(links: links, fields: [.locale, .provider, .carrier]).make(&dice)
            let audience = Audience(
                app: stores.app.number, filter: dice.isTrue(0.6) ? .everybody : filter,
                include: dice.element(of: AudienceInclude.allCases),
                tokens: HandedOutTokens(
                    dice.element(of: FleetToken.kinds), name: dice.optional(of: ["", "a", "b"])))
            let isCounted =
                audience.include == .reachable && audience.tokens?.name == nil
                && audience.filter.fields.isSubset(of: [.locale, .provider])
            if isCounted { fromCube += 1 } else { fromRows += 1 }
            let note = "seed \(seed), query \(number): \(audience)"
            let result = try await audiences.count(audience, explains: true)
            let oracle = AudienceOracle(asOf: result.asOf, links: links)
            let expected = fleet.filter { oracle.holds(audience, $0) }.flatMap { member in
                tokens[member.installID, default: []].filter { $0.isHandedOut(audience, at: result.asOf) }
            }.sorted()
            #expect(Int(result.count) == expected.count, "\(note)")
            #expect((result.plan?.path == .rollUp) == isCounted, "\(note)")
            #expect(try await pages(of: audience, in: audiences) == expected, "\(note)")
            #expect(try await exported(audience, in: audiences) == expected, "\(note)")
            #expect(try await opaquePages(of: audience, in: audiences).sorted() == expected, "\(note)")
            try await checkGroups(audience, fleet, expected, oracle, in: audiences, note)
            if !expected.isEmpty, expected.count < tokens.values.joined().count / 4 { partial += 1 }
        }
        #expect(partial > 50 && fromCube > 10 && fromRows > 50, "seed \(seed)")
        try await stores.expectExact()
    }

    private func checkGroups(
        _ audience: Audience, _ fleet: [FleetMember], _ expected: [FleetToken], _ oracle: AudienceOracle,
        in audiences: PostgresAudienceStore, _ note: String
    ) async throws {
        let result = try await audiences.breakDown(audience, by: [.systemName], limit: 100, explains: false)
        let members = Dictionary(uniqueKeysWithValues: fleet.map { ($0.installID.rawValue, $0) })
        let groups = Dictionary(grouping: expected) { members[$0.installID].flatMap { oracle.key(.systemName, $0) } }
        #expect(Int(result.total) == expected.count, "\(note)")
        #expect(result.groups.count == groups.count, "\(note)")
        for group in result.groups { #expect(groups[group.values[0]]?.count == Int(group.count), "\(note)") }
    }

    private func pages(of audience: Audience, in audiences: PostgresAudienceStore) async throws -> [FleetToken] {
        var (listed, position, hasMore) = ([FleetToken](), AudiencePosition.start, true)
        while hasMore {
            let page = try await audiences.page(audience, from: position, limit: 7, explains: false)
            listed += try page.items.map(FleetToken.init)
            position = .installID(after: page.items.last?.installID, name: page.items.last?.typed?.name)
            hasMore = page.hasMore
        }
        return listed
    }

    private func opaquePages(of audience: Audience, in audiences: PostgresAudienceStore) async throws -> [FleetToken] {
        var (listed, places) = ([FleetToken](), [String]())
        var (position, hasMore) = (AudiencePosition.opaqueID(after: nil), true)
        while hasMore {
            let page = try await audiences.page(audience, from: position, limit: 7, explains: false)
            listed += try page.items.map(FleetToken.init)
            places += page.items.map { String(hex: ($0.opaqueID?.bytes ?? []) + $0.nameDigest) }
            position = .opaqueID(after: page.items.last?.opaqueID, name: page.items.last?.nameDigest ?? [])
            hasMore = page.hasMore
        }
        #expect(places == places.sorted() && Set(places).count == places.count)
        return listed
    }

    private func exported(_ audience: Audience, in audiences: PostgresAudienceStore) async throws -> [FleetToken] {
        let rows = Cells()
        let columns: [ExportColumn] = [.installID, .tokenName, .token, .environment, .place]
        try await audiences.export(audience, columns, from: .start) { rows.add($0) }
        for row in rows.texts { #expect(row[4] == "\(row[0] ?? "") \(row[1] ?? "-")") }
        return try rows.texts.map { row in
            FleetToken(
                installID: try #require(row[0]), name: row[1] ?? "", text: try #require(row[2]),
                isSandbox: row[3] == "sandbox")
        }
    }
}

/// The texts of an export's cells, row by row.
final class Cells {
    private(set) var texts: [[String?]] = []

    func add(_ rows: ExportRows) {
        rows.withEachRow { bytes, cells in
            texts.append(
                cells.map { cell in
                    guard cell.count >= 0 else { return nil }
                    var text = ""
                    cell.withBytes(of: bytes) { text = String(decoding: $0, as: UTF8.self) }
                    return text
                })
        }
    }
}

/// A typed token of the random fleet: what the results show, and what decides whether they do.
struct FleetToken: Hashable, Comparable {
    static let kinds: [TokenKind] = [.liveActivity, .liveActivityStart, .voip]

    let installID: String
    let name: String
    let text: String
    let isSandbox: Bool
    private var kind = TokenKind.voip
    private var expiresAt: Timestamp?
    private var isHeld = false

    init(installID: String, name: String, text: String, isSandbox: Bool) {
        (self.installID, self.name, self.text, self.isSandbox) = (installID, name, text, isSandbox)
    }

    init(_ item: AudiencePage.Item) throws {
        let token = try #require(item.token)
        self.init(
            installID: item.installID.rawValue, name: try #require(item.typed).name, text: token.text,
            isSandbox: token.provider == .apnsSandbox)
    }

    static func random(
        of member: FleetMember, _ kind: TokenKind, _ name: String, _ dice: inout SeededGenerator
    ) -> FleetToken {
        let text = (0..<4).map { _ in String(hex: UInt32.random(in: 0...UInt32.max, using: &dice)) }.joined()
        var token = FleetToken(
            installID: member.installID.rawValue, name: name, text: text, isSandbox: dice.isTrue(0.3))
        token.kind = kind
        token.expiresAt = dice.optional(of: [-3_600, 3_600]).map {
            Timestamp(microseconds: Timestamp.now().microseconds + $0 * 1_000_000)
        }
        token.isHeld = dice.isTrue(0.2)
        return token
    }

    func isHandedOut(_ audience: Audience, at asOf: Timestamp) -> Bool {
        audience.tokens?.kind == kind && audience.tokens?.name ?? name == name && !isHeld
            && expiresAt.map { $0 > asOf } ?? true
    }

    func insert(into stores: TestStores) async throws {
        _ = try await stores.sql(
            """
            INSERT INTO typed_token (app_id, install_id, kind, name, provider, token, token_sha256, received_at,
                expires_at, held)
            SELECT \(stores.app.number.rawValue), \(installID), \(kind.rawValue)::text::token_kind, \(name),
                \(isSandbox ? "apnsSandbox" : "apns")::text::provider, \(text),
                \(TestStores.sha256(Array(text.utf8))), now(), \(expiresAt?.postgres), \(isHeld)
            """)
    }

    static func == (left: FleetToken, right: FleetToken) -> Bool { left.shown == right.shown }
    func hash(into hasher: inout Hasher) { hasher.combine(shown) }
    static func < (left: FleetToken, right: FleetToken) -> Bool {
        left.shown.lexicographicallyPrecedes(right.shown)
    }

    private var shown: [String] { [installID, name, text, "\(isSandbox)"] }
}

extension TestStores {
    /// Some installations have no typed tokens, others several of one kind.
    fileprivate func giveTypedTokens(
        to fleet: [FleetMember], _ dice: inout SeededGenerator
    ) async throws -> [InstallID: [FleetToken]] {
        var tokens: [InstallID: [FleetToken]] = [:]
        for member in fleet where dice.isTrue(0.8) {
            for kind in FleetToken.kinds {
                for name in ["", "a", "b"] where dice.isTrue(0.4) {
                    let token = FleetToken.random(of: member, kind, name, &dice)
                    try await token.insert(into: self)
                    tokens[member.installID, default: []].append(token)
                }
            }
        }
        _ = try await sql(RollUpDeltaStatements.tokens(of: fleet.map(\.installID), step: 1, in: app.number))
        return tokens
    }
}
