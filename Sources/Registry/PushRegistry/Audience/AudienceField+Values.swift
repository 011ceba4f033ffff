import Basics

extension AudienceField {
    /// Parses a value of the field.
    ///
    /// - Parameters:
    ///   - text: the digits of an offset, `true` or `false` for a flag.
    ///   - vocabulary: resolves time zone names as a registration does, and knows the topics.
    /// - Throws: `InvalidValue`; with the code `unknown-value` if the field's list does not have the name, and with
    ///   `unknown-topic` if the catalogue does not.
    public func value(_ text: String, in vocabulary: FilterVocabulary) throws(InvalidValue) -> AudienceValue {
        switch kind {
        case .choice(let names): return .text(ExactText(try Self.choice(text, of: names)))
        case .text: return .text(ExactText(self == .language ? LanguageAliases.canonical(text) : text))
        case .locale: return .locale(LocaleIdentifier(text))
        case .timeZone: return .text(ExactText(vocabulary.links.resolve(text)))
        case .flag: return .flag(try Self.flag(text))
        case .version: return .version(try Self.version(text))
        case .offset: return try Self.offset(Int64(text))
        case .time: return .time(try Self.time(text))
        case .topic: return .topic(try Self.topic(text, in: vocabulary.topics))
        case .user: return .text(ExactText(try UserID(text).rawValue))
        case .localTime, .location:
            throw InvalidValue(code: "operator-not-allowed", detail: "This field has no values to compare with.")
        }
    }

    /// - Throws: `InvalidValue` unless `seconds` is within `Device.timeZoneOffsets`.
    public static func offset(_ seconds: Int64?) throws(InvalidValue) -> AudienceValue {
        guard let seconds, Device.timeZoneOffsets.contains(seconds) else {
            let (least, most) = (Device.timeZoneOffsets.lowerBound, Device.timeZoneOffsets.upperBound)
            throw InvalidValue(code: "out-of-range", detail: "This must be seconds from \(least) to \(most).")
        }
        return .offset(seconds)
    }

    public static func flag(_ text: String) throws(InvalidValue) -> Bool {
        guard let flag = Bool(text) else {
            throw InvalidValue(code: "wrong-type", detail: "This must be true or false.")
        }
        return flag
    }

    private static func topic(_ text: String, in catalogue: TopicCatalogue) throws(InvalidValue) -> Topic {
        guard let topic = catalogue[text] else {
            throw InvalidValue(
                code: "unknown-topic", detail: "The app has no such topic. GET /v1/apps/{app}/topics lists them.")
        }
        return topic
    }

    private static func choice(_ text: String, of names: [String]) throws(InvalidValue) -> String {
        guard names.contains(text) else {
            throw InvalidValue(
                code: "unknown-value", detail: "This must be one of \(names.joined(separator: ", ")).")
        }
        return text
    }

    private static func version(_ text: String) throws(InvalidValue) -> Version {
        guard let version = Version(text) else {
            throw InvalidValue(
                code: "invalid-version", detail: "This must be a version that begins with a digit, such as 17.2.")
        }
        return version
    }

    private static func time(_ text: String) throws(InvalidValue) -> Timestamp {
        guard let time = Timestamp(text) else {
            throw InvalidValue(code: "invalid-time", detail: "This must be an RFC 3339 time with an offset.")
        }
        return time
    }
}

/// The time zones and topics by which the values of a filter are resolved.
public struct FilterVocabulary: Sendable {
    public let links: TimeZoneLinks
    /// The app's topics.
    public let topics: TopicCatalogue

    public init(links: TimeZoneLinks, topics: TopicCatalogue = TopicCatalogue()) {
        self.links = links
        self.topics = topics
    }
}
