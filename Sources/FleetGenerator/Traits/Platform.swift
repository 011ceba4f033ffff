/// What an installation runs on.
public enum Platform: String, CaseIterable, Hashable, Sendable {
    case ios, android, web

    /// The locales of its users. Nobody publishes those of browsers: they are taken for Android's.
    var locales: WeightedChoice<String> {
        self == .ios ? LocaleWeights.ios : LocaleWeights.android
    }
}
