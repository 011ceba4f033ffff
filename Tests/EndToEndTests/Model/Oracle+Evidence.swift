// R9, and reads.

extension Oracle {
    /// The verdicts of error codes.
    private static let deadWords = ["apns": ["Unregistered"], "apnsSandbox": ["Unregistered"], "fcm": ["UNREGISTERED"]]
    private static let doubtfulWords = [
        "apns": ["BadDeviceToken"], "apnsSandbox": ["BadDeviceToken"], "fcm": ["SENDER_ID_MISMATCH"],
    ]

    private enum Verdict { case dead, doubtful }

    private static func verdict(_ reason: String, by provider: String) -> Verdict? {
        if deadWords[provider]?.contains(reason) == true { return .dead }
        return doubtfulWords[provider]?.contains(reason) == true ? .doubtful : nil
    }

    /// - Parameter moment: `moment.sent` is the time of evidence without a time.
    mutating func judge(_ items: [ModelFeedback], at moment: Moment) -> Response {
        var counts: [String: Int64] = [:]
        for item in items { counts[judge(item, at: moment), default: 0] += 1 }
        var response = Response(200, ["received": .number(Int64(items.count)), "invalid": .number(0)])
        for word in ["unregistered", "suspect", "outdated", "unknown", "ignored"] {
            response.members[word] = .number(counts[word] ?? 0)
        }
        return response
    }

    private mutating func judge(_ item: ModelFeedback, at moment: Moment) -> String {
        guard Self.canMatter(item) else { return "ignored" }
        let holder = phones.first { $0.value.token == item.token && $0.value.provider == item.provider }
        let held = item.token == nil ? nil : holder?.key
        guard let id = item.phone ?? held else { return "unknown" }
        guard let phone = phones[id] else { return held == nil ? "unknown" : "outdated" }
        guard let token = phone.token, item.token == nil || item.token == token,
            item.provider == nil || item.provider == phone.provider
        else { return "outdated" }
        guard let verdict = Self.verdict(item.reason, by: phone.provider) else { return "ignored" }
        let evidence = min(item.at ?? moment.sent, moment.sent)
        guard evidence > phone.seenAt else { return "outdated" }
        if let known = item.generation, !(phone.registrationGeneration...phone.generation).contains(known) {
            return "outdated"
        }
        let isDead = verdict == .dead && evidence - phone.seenAt >= Self.touchInterval
        return isDead ? unregister(id, phone) : suspect(id, phone, verdict)
    }

    private static func canMatter(_ item: ModelFeedback) -> Bool {
        let providers = item.provider.map { [$0] } ?? Array(deadWords.keys)
        return providers.contains { verdict(item.reason, by: $0) != nil }
    }

    private mutating func unregister(_ id: String, _ phone: Phone) -> String {
        guard phone.state != "unregistered" else { return "ignored" }
        var after = phone
        after.generation += 1
        if phone.replacedBy == nil {
            (after.state, after.typed) = ("unregistered", [:])
            judge(id, "unregistered", "tokenDead", from: phone, to: after)
        } else {
            (after.state, after.token, after.typed) = ("superseded", nil, [:])
            judge(id, "superseded", "reinstalled", from: phone, to: after)
        }
        return "unregistered"
    }

    private mutating func suspect(_ id: String, _ phone: Phone, _ verdict: Verdict) -> String {
        guard phone.state == "active" else { return "ignored" }
        var after = phone
        after.generation += 1
        if phone.replacedBy == nil {
            after.state = "suspect"
            judge(id, "suspect", verdict == .dead ? "recentlySeen" : "tokenRefused", from: phone, to: after)
        } else {
            (after.state, after.token, after.typed) = ("superseded", nil, [:])
            judge(id, "superseded", "reinstalled", from: phone, to: after)
        }
        return "suspect"
    }

    private mutating func judge(_ id: String, _ kind: String, _ reason: String, from before: Phone, to after: Phone) {
        phones[id] = after
        record(kind, reason, by: actors.sender, id, from: before, to: after, previousUser: before.user)
    }

    func read(_ id: String, by credential: ModelCredential, at moment: Moment) -> Response {
        if hasEnded(credential, on: id, at: moment) { return .endedCredential }
        guard let phone = phones[id], isOwn(phone, of: credential) else { return .unknownInstallation }
        var response = Response(
            200,
            [
                "installId": .text(id), "provider": .text(phone.provider), "userId": .text(phone.user),
                "sessionId": .text(phone.session), "state": .text(phone.state), "generation": .number(phone.generation),
                "reachable": .flag(isReachable(phone, at: moment)),
                "authorizationStatus": .text(phone.snapshot.authorization),
                "keychainId": .text(phone.snapshot.keychain),
                "vendorId": .text(phone.snapshot.vendor),
            ])
        if credential.isService {
            response.members["token"] = .text(phone.token)
            response.members["probablyReplacedBy"] = .text(phone.replacedBy)
        }
        return response
    }

    /// No expiry of a test is near the present.
    private func isReachable(_ phone: Phone, at moment: Moment) -> Bool {
        guard phone.state == "active", phone.expiresAt ?? .max > moment.sent else { return false }
        return phone.snapshot.authorization == "authorized"
            || phone.snapshot.authorization == "unknown" && phone.provider == "fcm"
    }

    func list(_ user: String) -> Response {
        Response(200, ["installations": .texts(phones.filter { $0.value.user == user }.keys.sorted())])
    }
}
