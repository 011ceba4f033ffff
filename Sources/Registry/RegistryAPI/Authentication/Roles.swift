import PushRegistry

/// A set of roles, as bits: every call asks which of them its caller has.
struct Roles: OptionSet {
    let rawValue: UInt8

    static let client = Roles(.client)
    static let service = Roles(.service)
    static let sender = Roles(.sender)
    static let marketing = Roles(.marketing)
    static let support = Roles(.support)
    static let admin = Roles(.admin)
    static let all = Roles(Role.allCases)

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(_ roles: some Sequence<Role>) {
        self = roles.reduce(into: []) { $0.insert(Roles($1)) }
    }

    private init(_ role: Role) {
        rawValue =
            switch role {
            case .client: 1
            case .service: 2
            case .sender: 4
            case .marketing: 8
            case .support: 16
            case .admin: 32
            }
    }

    func contains(_ role: Role) -> Bool { contains(Roles(role)) }

    /// The names for an error: `marketing, sender or admin`. An admin may do all.
    var list: String {
        let names = Role.allCases.filter { contains($0) && $0 != .admin }.map(\.rawValue).sorted()
        return names.isEmpty ? "admin" : names.joined(separator: ", ") + " or admin"
    }
}
