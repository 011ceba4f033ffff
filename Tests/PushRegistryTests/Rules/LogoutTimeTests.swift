import Testing

@testable import PushRegistry

@Suite("A logout refuses credentials that may be older, whatever the issuer's clock shows (fine print 16)")
struct LogoutTimeTests {
    /// Seconds: the logout is at 100.
    @Test(arguments: [
        (issuedAt: 99, receivedAt: 100, isRefused: true), (129, 101, true), (129, 129, true), (129, 3_600, true),
        (130, 130, false), (130, 131, false), (131, 131, false), (160, 131, true), (189, 159, true),
        (189, 160, false), (190, 3_600, false),
    ])
    func credential_isRefused(issuedAt: Int64, receivedAt: Int64, isRefused: Bool) {
        let app = AppNumber(1)
        let owner = Owner.make("alice")
        for isEverywhere in [true, false] {
            var tombstones = Tombstones()
            if isEverywhere {
                tombstones.users[.init(app: app, userID: owner.userID)] = .init(time: .at(100), number: 1)
            } else {
                tombstones.installations[.init(key: .make("phone"), userID: owner.userID, sessionID: nil)] = .at(100)
            }
            let credential = UserCredential(owner: owner, issuedAt: .at(issuedAt))
            let hasEnded = tombstones.hasEnded(
                credential, on: .make("phone"), in: app, remembering: .days(1), at: .at(receivedAt))
            #expect(hasEnded == isRefused, "issued at \(issuedAt), received at \(receivedAt), \(isEverywhere)")
        }
    }
}
