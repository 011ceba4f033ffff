import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("Cells that nothing uses are deleted, and no number that is in use (R13)", .stores)
struct UnusedCellsTests {
    private let stores = TestStores.lent!

    /// One client has used up the cells.
    @Test func appAtItsLimit_hasItsCellsBack_afterTwoNights() async throws {
        let limits = RollUpCellLimits(cellsMax: 5)
        try await stores.withService(RollUpCells(checkInterval: .zero, limits: limits)) { service in
            for number in 0..<9 { try await stores.register("i10", "x\(number)", at: service) }
            try await stores.register("i11", "de_DE", at: service)
            try await stores.register("i12", "fr_FR", at: service)
            #expect(try await stores.path(of: "de_DE") != .rollUp)
            for isSecond in [false, true] {
                try await stores.forgetDeltas()
                try await stores.passNight(limits)
                #expect(try await (stores.path(of: "de_DE") == .rollUp) == isSecond)
            }
            #expect(try await stores.locales() == ["de_DE", "fr_FR", "x8"])
            try await stores.expectSound()
            try await stores.register("i13", "sv_SE", at: service)
            #expect(try await stores.path(of: "sv_SE") == .rollUp)
        }
        // Texts follow their cells: they are marked in the second night.
        try await stores.forgetDeltas()
        try await stores.passNight(limits)
        #expect(try await stores.count("SELECT count(*) FROM rollup_text WHERE text LIKE 'x%'") == 1)
        try await stores.expectSound()
    }

    @Test func noTime_hasGoneBy_soNothingIsDeleted() async throws {
        try await stores.abandon("x")
        for _ in 0..<3 { _ = try await CleanUp(stores.configuration).run(CleanUp.Options()) }
        #expect(try await stores.count("SELECT count(*) FROM rollup_cell WHERE unused_since IS NOT NULL") == 1)
    }

    @Test func cell_stays_whenItIsLookedUpAfterTheMark() async throws {
        let number = try await stores.abandon("x")
        for mayAdd in [true, false] {
            try await stores.passNight()
            #expect(try await stores.marks() == 1)
            let creation = try await RollUpCellCreation([try stores.key(of: "x")], mayAdd: mayAdd)
                .run(on: stores.postgres, .batch)
            #expect(creation.numbers == [number] && creation.added == (mayAdd ? 0 : 1))
            #expect(try await stores.marks() == 0)
        }
        try await stores.passNight()
        #expect(try await stores.locales().contains("x"))
        try await stores.passNight()
        #expect(try await stores.locales() == ["kept"])
        let creation = try await RollUpCellCreation([try stores.key(of: "x")], mayAdd: true)
            .run(on: stores.postgres, .batch)
        #expect(creation.numbers != [number] && creation.added == 1)
    }

    /// The service looks at the database every 250 ms, or uses the number that it has until then.
    @Test(arguments: [Duration.zero, .seconds(3_600)])
    func cell_stays_whenAServiceHasItInItsCache(checkInterval: Duration) async throws {
        try await stores.withService(RollUpCells(checkInterval: checkInterval)) { service in
            for locale in ["x", "kept"] { try await stores.register("i10", locale, at: service) }
            try await stores.forgetDeltas()
            try await stores.passNight()
            #expect(try await stores.marks() == 1)
            try await stores.register("i11", "x", at: service)
            #expect(try await stores.marks() == (checkInterval == .zero ? 0 : 1))
            try await stores.passNight()
            #expect(try await stores.marks() == 0)
            try await stores.expectSound()
        }
    }

    /// The row is locked by the deletion or by the look-up, whichever comes first.
    @Test func lookUp_createsTheCellAnew_whenItIsBeingDeleted() async throws {
        let number = try await stores.abandon("x")
        try await stores.passNight()
        let creation = try await stores.postgres.withTransaction { transaction in
            _ = try await transaction.execute("DELETE FROM rollup_cell WHERE unused_since IS NOT NULL")
            let creation = Task {
                // The wait must still last when the test looks for it.
                try await RollUpCellCreation([try stores.key(of: "x")], mayAdd: true)
                    .run(on: stores.postgres, .alone).numbers
            }
            try await stores.waitForBlockedSession()
            return creation
        }
        #expect(try await creation.value != [number])
        #expect(try await stores.locales() == ["kept", "x"])
    }

    @Test func deletion_leavesACell_whoseMarkIsBeingRemoved() async throws {
        try await stores.abandon("x")
        try await stores.passNight()
        try await stores.postgres.withTransaction { transaction in
            _ = try await transaction.execute("UPDATE rollup_cell SET unused_since = NULL")
            try await stores.passNight()
        }
        #expect(try await stores.locales() == ["kept", "x"])
    }

    /// Services do not know of its marks, so they are made again.
    @Test func marks_areMadeAgain_afterARunThatWasKilled() async throws {
        try await stores.abandon("x")
        try await stores.passNight()
        _ = try await stores.sql("SELECT setval('rollup_marked_at', 0)")
        try await stores.passNight()
        #expect(try await stores.locales() == ["kept", "x"])
        try await stores.passNight()
        #expect(try await stores.locales() == ["kept"])
    }

    @Test(arguments: ["message_delta", "message_sum"] as [PostgresSQL])
    func cell_stays_whileAMessageHasItsCounts(table: PostgresSQL) async throws {
        let number = try await stores.abandon("x")
        _ = try await stores.sql(
            PostgresStatement(
                """
                INSERT INTO \(sql: table)
                    (app_id, message, cell, targeted, accepted, failed, delivered, opened, dismissed)
                SELECT \(stores.app.number.rawValue), message_number(now()) + n, \(number), 1, 0, 0, 0, 0, 0
                FROM generate_series(1, 3) AS n
                """))
        for _ in 0..<3 { try await stores.passNight() }
        #expect(try await stores.locales() == ["kept", "x"])
        _ = try await stores.sql(PostgresStatement("DELETE FROM message_sum"))
        for _ in 0..<2 { try await stores.passNight() }
        #expect(try await stores.locales() == ["kept"])
    }

    /// A night comes beside each round of registrations. Those of a round have ended before the next night.
    @Test(.timeLimit(.minutes(10))) func installations_keepTheirCells_whileCombinationsComeAndGo() async throws {
        let seed = TestSeed.make(for: "UnusedCellsTests")
        try await stores.withService(RollUpCells(checkInterval: .zero)) { service in
            for round in 0..<12 as Range<UInt64> {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<4 as Range<UInt64> {
                        group.addTask {
                            var dice = SeededGenerator(seed: seed &+ round * 4 &+ writer)
                            for _ in 0..<30 {
                                let (id, locale) = ("i\(writer)\(dice.below(3))", "x\(dice.below(60))")
                                try await stores.register(id, locale, at: service)
                            }
                        }
                    }
                    group.addTask { try await stores.passNight() }
                    try await group.waitForAll()
                }
                try await stores.expectSound()
                try await stores.forgetDeltas()
            }
        }
        #expect(try await stores.count("SELECT max(number) - count(*) FROM rollup_cell") > 60)
    }

    // MARK: Limits

    @Test func registrations_addAFewCellsAnHour_beyondTheFirstOnes() async throws {
        let limits = RollUpCellLimits(cellsMax: 100, freeMax: 3, hourlyMax: 2)
        for isLater in [false, true] {
            if isLater {
                _ = try await stores.sql("UPDATE rollup_cell SET created_at = now() - interval '61 minutes'")
            }
            try await stores.withService(RollUpCells(limits: limits)) { service in
                for number in 0..<8 {
                    try await stores.register("i\(isLater ? 2 : 1)\(number)", "x\(number)", at: service)
                }
            }
            #expect(try await stores.locales().count == (isLater ? 5 : 3))
            #expect(try await stores.brokenRollUp() == [])
        }
        // The night job gives them their cells.
        try await stores.passNight(limits)
        #expect(try await stores.locales().count == 8)
        try await stores.expectSound()
    }

    @Test func cells_thatExist_doNotCountAsNew_inAProcessThatStarts() async throws {
        let limits = RollUpCellLimits(cellsMax: 4)
        for locales in [["a", "b", "c"], ["a", "b", "c", "d"]] {
            try await stores.withService(RollUpCells(limits: limits)) { service in
                for locale in locales { try await stores.register("i10", locale, at: service) }
            }
        }
        #expect(try await stores.locales() == ["a", "b", "c", "d"])
    }
}

extension TestStores {
    /// Lends the installations of a service that has this cache.
    fileprivate func withService(
        _ cells: RollUpCells, _ body: (PostgresInstallationStore) async throws -> Void
    ) async throws {
        let service = PostgresInstallationStore(LoopResources(postgres, cells))
        // Ends with this scope.
        async let _ = service.run()
        try await body(service)
    }

    fileprivate func register(
        _ installID: String, _ locale: String, at service: PostgresInstallationStore
    ) async throws {
        _ = try await service.register(registration(installID, locale))
    }

    private func registration(_ installID: String, _ locale: String) throws -> Registration {
        try .make(installID, Token("aaaaaaaaaaaaaa\(installID)", of: .fcm), of: app) {
            $0.device.locale = LocaleIdentifier(locale)
        }
    }

    fileprivate func key(of locale: String) throws -> RollUpCells.Key {
        RollUpCells.Key(app.number, .fcm, try registration("x", locale).snapshot)
    }

    /// Creates a cell, and lets its installation leave it for another one.
    ///
    /// - Returns: its number.
    @discardableResult
    fileprivate func abandon(_ locale: String) async throws -> Int64 {
        try await withService(RollUpCells()) { service in
            for locale in [locale, "kept"] { try await register("i10", locale, at: service) }
        }
        try await forgetDeltas()
        return try await count("SELECT min(number) FROM rollup_cell")
    }

    /// As if ten minutes had gone by.
    fileprivate func forgetDeltas() async throws {
        try await fold()
        _ = try await sql(
            "DELETE FROM rollup_delta d USING rollup_state s WHERE s.app_id = d.app_id AND d.transaction_id < s.horizon"
        )
    }

    /// A night in which no time has to go by between a mark and the deletion.
    fileprivate func passNight(_ limits: RollUpCellLimits = RollUpCellLimits()) async throws {
        var options = CleanUp.Options()
        options.cells = UnusedCells.Options(lag: .zero, limits: limits)
        _ = try await CleanUp(configuration).run(options)
    }

    fileprivate func marks() async throws -> Int64 {
        try await count("SELECT count(*) FROM rollup_cell WHERE unused_since IS NOT NULL")
    }

    /// The locales that have cells.
    fileprivate func locales() async throws -> [String] {
        try await sql(
            """
            SELECT t.text FROM rollup_cell c JOIN rollup_text t ON t.app_id = c.app_id AND t.number = c.locale_number
            ORDER BY 1
            """
        ).map { try $0.decode(0) }
    }

    /// The source of a count by locale.
    fileprivate func path(of locale: String) async throws -> AudiencePlan.Path? {
        let audience = Audience(
            app: app.number, filter: .condition(.locale, .oneOf([.locale(LocaleIdentifier(locale))])), include: .active)
        let result = try await audiences.count(audience, explains: true)
        #expect(result.count == 1)
        return result.plan?.path
    }

    fileprivate func expectSound() async throws {
        #expect(try await brokenRollUp() == [])
        try await expectExact(CubeCache())
    }
}
