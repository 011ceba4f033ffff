import Testing

@testable import PushRegistry

@Suite("A reinstall is recognised by keychain id and vendor id, or model (R5)")
struct ReinstallRuleTests {
    /// The mark of the older installation after the newer one has registered.
    private func mark(_ older: Device, _ newer: Device) throws -> InstallID? {
        var locked = LockedInstallations([], now: .at(1), number: 1)
        _ = try locked.register(.make("old", device: older))
        _ = try locked.register(.make("new", device: newer))
        return locked[.make("old")]?.probablyReplacedBy
    }

    @Test(
        arguments: [
            ("kc", "v", "m", "kc", "v", "m", true), ("kc", "v", "m1", "kc", "v", "m2", true),
            ("kc", "v1", "m", "kc", "v2", "m", false), ("kc", nil, "m", "kc", "v", "m", true),
            ("kc", "v", "m", "kc", nil, "m", true), ("kc", nil, "m1", "kc", nil, "m2", false),
            ("kc1", "v", "m", "kc2", "v", "m", false), (nil, "v", "m", nil, "v", "m", false),
            ("caf\u{E9}", "v", "m", "cafe\u{301}", "v", "m", false),
            ("kc", "caf\u{E9}", "m", "kc", "cafe\u{301}", "m", false),
        ] as [(String?, String?, String, String?, String?, String, Bool)])
    func older_isMarked_whenFingerprintsMatch(
        keychain: String?, vendor: String?, model: String, newKeychain: String?, newVendor: String?, newModel: String,
        expected: Bool
    ) throws {
        let mark = try mark(
            .make("old", keychainID: keychain, vendorID: vendor, deviceModel: model),
            .make("new", keychainID: newKeychain, vendorID: newVendor, deviceModel: newModel))
        #expect(mark == (expected ? .make("new") : nil))
    }

    @Test func older_isNotMarked_whenItIsNotActive() throws {
        var locked = LockedInstallations([], now: .at(1), number: 1)
        _ = try locked.register(.make("old", token: "t", device: .make("old", keychainID: "kc", vendorID: "v")))
        _ = try locked.register(.make("new", token: "t", device: .make("new", keychainID: "kc", vendorID: "v")))
        #expect(locked[.make("old")]?.state == .superseded)
        #expect(locked[.make("old")]?.probablyReplacedBy == nil)
    }
}
