import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

@Suite("In any order of events, pushes reach the user who is signed in, and nobody else")
struct RandomOrderTests {
    /// Users take turns while the network fails, responses get lost and the app is restarted.
    @Test(arguments: 0..<200)
    func token_belongsToTheUserWhoIsSignedIn(_ seed: Int) async throws {
        var random = Steps(seed: UInt64(seed))
        let phone = Phone()
        let lossy = LossyTransport(phone.registry)
        var run = Run(phone: phone, client: phone.launch(transport: lossy))
        await run.client.didRegister(token: run.token, provider: .apns)
        for _ in 0..<30 {
            switch random.next(13) {
            case 0, 1: await run.signIn(["alice", "bob"][random.next(2)])
            case 2: await run.signOut()
            case 3: await phone.registry.setReachable(random.next(2) == 0)
            case 4: await lossy.loseNextResponse()
            case 5: await phone.registry.failNext(status: [429, 500, 503][random.next(3)])
            case 6:
                await run.client.settled()
                run.client = phone.launch(transport: lossy)
                await run.resume()
            case 7:
                phone.set { $0.device.appVersion = "\(random.next(100))" }
                await run.client.refresh()
            case 8: await run.rotate(random.next(1_000))
            case 9, 10: await run.begin(activity: random.next(3))
            case 11: await run.end(activity: random.next(3))
            default: await run.client.settled()
            }
        }
        await phone.registry.setReachable(true)
        for _ in 0..<12 {
            await run.client.settled()
            phone.clock.advance(by: 5)
            await run.client.refresh()
        }
        let state = await run.client.settled()
        let holder = await phone.registry.holder(of: run.token)
        switch run.account {
        case .nobodyYet: #expect(state.isRegistered && holder != nil && holder?.userID == nil)
        case .user(let user, _):
            #expect(state.isRegistered && holder?.userID == user)
            #expect(holder.map { Set($0.tokens.compactMap(\.name)) } == run.activities)
        case .signedOut: #expect(state == .signedOut && holder == nil)
        }
        #expect(await phone.registry.installationIDs.count <= 1)
    }

    /// The app and what it knows.
    private struct Run {
        enum Account {
            case nobodyYet
            case user(String, session: String)
            case signedOut
        }

        let phone: Phone
        var client: PushRegistryClient
        var account = Account.nobodyYet
        var token = Phone.token
        /// The activities that the user who is signed in has begun and not ended.
        var activities: Set<String> = []

        mutating func signIn(_ user: String) async {
            if case .user = account { await signOut() }
            account = .user(user, session: UUID().uuidString)
            await resume()
        }

        mutating func begin(activity number: Int) async {
            guard case .user(let user, _) = account else { return }
            activities.insert("\(user)-\(number)")
            let token = Data(repeating: UInt8(number), count: 32)
            await client.didReceive(liveActivityToken: token, activity: "\(user)-\(number)")
        }

        mutating func end(activity number: Int) async {
            guard case .user(let user, _) = account else { return }
            activities.remove("\(user)-\(number)")
            await client.didEnd(activity: "\(user)-\(number)")
        }

        /// What an app does at launch.
        func resume() async {
            if case .user(let user, let session) = account {
                let registry = phone.registry
                await client.signIn { registry.credential(user: user, session: session) }
            }
            await client.didRegister(token: token, provider: .apns)
        }

        mutating func signOut() async {
            account = .signedOut
            activities = []
            try? await client.signOut()
        }

        mutating func rotate(_ number: Int) async {
            let digits = String(number, radix: 16)
            token = String(repeating: "0", count: 64 - digits.count) + digits
            await client.didRegister(token: token, provider: .apns)
        }
    }
}

/// Random numbers that are the same in each run (SplitMix64).
private struct Steps {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Less than `limit`.
    mutating func next(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ (value >> 31)) % UInt64(limit))
    }
}
