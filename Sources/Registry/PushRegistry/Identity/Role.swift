/// A role of a key: the calls that it may make.
public enum Role: String, CaseIterable, Hashable, Sendable {
    case client, service, sender, marketing, support, admin
}
