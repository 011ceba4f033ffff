import RegistryTestSupport
import Testing

@Suite("The search for a serial order")
struct LinearizationTests {
    private static let signIn = ModelCall.register(
        ModelRegistration(
            phone: "phone-0", provider: "apns", token: "0bcdef0123456789",
            snapshot: ModelSnapshot(authorization: "authorized", keychain: "k", vendor: "v"),
            credential: .service(user: "alice", session: "alice-1", expiresAt: nil), ifMatch: nil))
    private static let logOut = ModelCall.logOut(
        phone: "phone-0", by: .service(user: "alice", session: "alice-1", expiresAt: nil), keepsAnonymous: false,
        ifMatch: nil)

    private let empty = Oracle(actors: .init(service: "service", client: "client", jwt: "jwt", sender: "sender"))

    private func after(_ calls: ModelCall..., from oracle: Oracle? = nil) -> Oracle {
        var oracle = oracle ?? empty
        for (index, call) in calls.enumerated() {
            let time = Int64(100 + index)
            _ = oracle.execute(call, at: Oracle.Moment(sent: time, received: time, seenAt: time, generation: 1))
        }
        return oracle
    }

    private func unanswered(_ call: ModelCall) -> ModelStep {
        ModelStep(call: call, sent: 90, received: 1_000, response: nil)
    }

    private func answered(_ call: ModelCall, at time: Int64, _ status: Int, _ body: JSON) -> ModelStep {
        let response = HTTPResponse(status: status, fields: [], body: Array(body.text.utf8))
        return ModelStep(call: call, sent: time, received: time + 10, response: response)
    }

    @Test func callWithoutAResponse_happened_orDidNot() throws {
        for end in [empty, after(Self.signIn)] {
            var search = Linearization([unanswered(Self.signIn)], leadingTo: ModelTables(of: end))
            #expect(try search.end(from: empty).phones == end.phones)
        }
        var search = Linearization([], leadingTo: ModelTables(of: after(Self.signIn)))
        #expect(throws: NoSerialOrder.self) { try search.end(from: empty) }
    }

    @Test func callWithoutAResponse_mayTakeEffect_afterLaterCalls() throws {
        let read = answered(.list(user: "alice"), at: 200, 200, ["installations": []])
        var search = Linearization(
            [unanswered(Self.signIn), read], leadingTo: ModelTables(of: after(.list(user: "alice"), Self.signIn)))
        #expect(try search.end(from: empty).phones.count == 1)
    }

    @Test func refusalBecauseOfAFailure_isNoAnswer() throws {
        let refused = ModelStep(
            call: Self.signIn, sent: 90, received: 1_000, response: HTTPResponse(status: 503, fields: [], body: []))
        var search = Linearization([refused], leadingTo: ModelTables(of: after(Self.signIn)))
        #expect(try search.end(from: empty).phones.count == 1)
    }

    /// Both were acknowledged, and the phone is bound.
    @Test func signIn_hasNoPlace_besideALogoutThatItOverlooked() throws {
        let anonymous = after(Self.signIn, Self.logOut)
        var bound = after(Self.signIn, from: empty)
        bound.logouts = anonymous.logouts
        let logOut = answered(Self.logOut, at: 200, 200, ["status": "alreadyLoggedOut", "generation": 2])
        var search = Linearization(
            [unanswered(Self.signIn), logOut], leadingTo: ModelTables(of: bound))
        #expect(throws: NoSerialOrder.self) { try search.end(from: anonymous) }
    }
}
