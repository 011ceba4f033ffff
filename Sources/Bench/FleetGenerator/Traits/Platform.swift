/// The platform of an installation.
public enum Platform: String, CaseIterable, Hashable, Sendable {
    case ios, android, web

    /// The locales of its users. There are no published figures for browsers, so they use Android's.
    var locales: WeightedChoice<String> {
        self == .ios ? LocaleWeights.ios : LocaleWeights.android
    }
}
