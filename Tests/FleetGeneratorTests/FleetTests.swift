import Foundation
import PushRegistry
import Testing

@testable import FleetGenerator
@testable import RegistryAPI

@Suite("A fleet") struct FleetTests {
    @Test func installation_isTheSame_whenSeedAndNumberAreEqual() throws {
        let (first, second) = (try Fleet.make(count: 10), try Fleet.make(count: 1_000_000))
        for number in [0, 1, 17, 999, 123_456_789] {
            #expect(first[number] == second[number])
            #expect(first[number].body() == second[number].body())
        }
    }

    @Test func installation_differs_whenSeedOrNumberDiffers() throws {
        let (one, two) = (try Fleet.make(seed: 1), try Fleet.make(seed: 2))
        #expect(one[3].installID != two[3].installID)
        #expect(one[3].token != two[3].token)
        #expect(one[3].installID != one[4].installID)
    }

    /// The repository's fleets must not change with the toolchain.
    @Test func randomNumbers_areTheSame_onEveryMachine() {
        var random = FleetRandom(seed: 1, .device, 0)
        #expect([random.next(), random.next()] == Self.firstNumbers)
    }

    private static let firstNumbers: [UInt64] = [0x66E7_4665_0CE1_B25E, 0xC842_FA0C_86E8_74BD]

    @Test func identifiersAndTokens_areUnique() throws {
        let fleet = try Fleet.make()
        #expect(Set((0..<20_000).map { fleet[$0].installID }).count == 20_000)
        #expect(Set((0..<20_000).map { fleet[$0].token }).count == 20_000)
    }

    /// The expected request comes from the service's own parser, not from the generator.
    @Test(arguments: [false, true]) func everyBody_parsesToItsRequest(storesAdvertisingID: Bool) throws {
        let fleet = try Fleet.make(storesAdvertisingID: storesAdvertisingID)
        let links = try TimeZoneLinks()
        for number in 0..<5_000 {
            let installation = fleet[number]
            let body = RegistrationBody(
                bytes: installation.body(), installID: installation.installID,
                storesAdvertisingID: storesAdvertisingID, links: links)
            #expect(try body.read() == installation.request)
        }
    }

    @Test func toggledSettings_differFromTheOwn_andFromEachOther() throws {
        let fleet = try Fleet.make()
        for number in 0..<100 {
            let settings = fleet[number].settings
            #expect(Set((0..<256).map { settings.toggled($0) }).count == 256)
            #expect(settings.toggled(0) == settings)
        }
    }

    @Test func times_areNotAfterAsOf() throws {
        let fleet = try Fleet.make()
        for number in 0..<2_000 {
            let times = fleet[number].times
            #expect(times.createdAt <= times.lastSeenAt)
            #expect(times.lastSeenAt <= fleet.asOf)
        }
    }
}
