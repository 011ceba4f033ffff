extension AuthorizationStatus {
    /// The status that a word means, in any case, with or without `_`, `-` and spaces. Nil for a word that is not in
    /// the table: nobody knows whether its user allows notifications.
    public init?(word: String) {
        // Most files have our own words: the rest is slow.
        guard let status = Self(rawValue: word) ?? Self.words[word.lettersOfWord] else { return nil }
        self = status
    }

    private static let words: [String: AuthorizationStatus] = {
        var words = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue.lowercased(), $0) })
        for word in ["true", "t", "yes", "y", "1", "on", "enabled", "allowed", "granted", "subscribed", "optedin"] {
            words[word] = .authorized
        }
        for word in ["false", "f", "no", "n", "0", "off", "disabled", "blocked", "unsubscribed", "optedout"] {
            words[word] = .denied
        }
        // Of browsers: the user was not asked.
        for word in ["default", "prompt"] { words[word] = .notDetermined }
        return words
    }()
}

extension Provider {
    /// The provider that a word means, in any case, with or without `_`, `-` and spaces. Nil for other words.
    public init?(word: String) {
        guard let provider = Self(rawValue: word) ?? Self.words[word.lettersOfWord] else { return nil }
        self = provider
    }

    private static let words: [String: Provider] = {
        var words = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue.lowercased(), $0) })
        words["ios"] = apns
        for word in ["android", "gcm", "firebase"] { words[word] = fcm }
        (words["web"], words["hms"]) = (webPush, huawei)
        return words
    }()
}

extension String {
    /// Without what sets words apart, in lower case.
    fileprivate var lettersOfWord: String { lowercased().filter { $0 != "_" && $0 != "-" && !$0.isWhitespace } }
}
