/// What a credential may do.
public enum Role: String, CaseIterable, Hashable, Sendable {
    case client, service, sender, marketing, support, admin
}
