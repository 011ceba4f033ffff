import PushRegistry
import Testing

@testable import FleetGenerator

/// The frequencies in 40,000 installations: three standard deviations of a share of one half are 0.75 %, and people
/// with several installations add a little.
@Suite("Distributions") struct DistributionTests {
    private static let sample: [FleetInstallation] = {
        let fleet = try? Fleet.make()
        return (0..<40_000).compactMap { fleet?[$0] }
    }()
    private static let tolerance = 0.012

    private func share(
        of part: (FleetInstallation) -> Bool, among whole: (FleetInstallation) -> Bool = { _ in true }
    ) -> Double {
        let all = Self.sample.filter(whole)
        return Double(all.count(where: part)) / Double(all.count)
    }

    private func expect(_ share: Double, near wanted: Double, _ location: SourceLocation = #_sourceLocation) {
        #expect(abs(share - wanted) < Self.tolerance, sourceLocation: location)
    }

    @Test func platforms_followTheStatistics() {
        expect(share { $0.platform == .ios }, near: 0.29)
        expect(share { $0.platform == .android }, near: 0.70)
        expect(share { $0.platform == .web }, near: 0.01)
    }

    @Test(arguments: [Platform.ios, .android]) func locales_followTheStatistics(platform: Platform) {
        let locales = platform.locales
        for index in 0..<10 {
            let wanted = LocaleIdentifier(locales.values[index])
            expect(
                share {
                    $0.device.locale == wanted
                } among: {
                    $0.platform == platform
                }, near: locales.share(index))
        }
    }

    @Test func providers_fitTheirPlatforms() {
        for installation in Self.sample {
            switch installation.token.provider {
            case .apns, .apnsSandbox: #expect(installation.platform == .ios)
            case .fcm, .huawei: #expect(installation.platform == .android)
            case .webPush: #expect(installation.platform == .web && installation.keys != nil)
            }
        }
    }

    @Test func oneInAHundred_isOdd() {
        let odd = share {
            !$0.device.locale.isParsed || ["arm64", "x86_64", "iPhone0,0"].contains($0.device.deviceModel)
                || $0.sent.timeZoneID != $0.device.timeZoneID || $0.device.systemVersion == "26.1 beta"
        }
        #expect((0.001...0.02).contains(odd))
        #expect(
            Self.sample.contains { $0.sent.timeZoneID == "Asia/Calcutta" && $0.device.timeZoneID == "Asia/Kolkata" })
        #expect(Self.sample.contains { $0.sent.locale.isEmpty })
    }

    @Test func oldPhones_doNotRunNewSystems() {
        for installation in Self.sample where installation.device.deviceModel.hasPrefix("iPhone11,") {
            #expect(!installation.device.systemVersion.hasPrefix("26.5"))
        }
    }
}
