import RegistryTestSupport

/// A call of the model-based tests, or a change by a command beside them.
///
/// In a plan, times are relative to the call's sending, and generations count back from the newest known one (-1);
/// `resolved(at:known:)` replaces them when the call is sent.
enum ModelCall: Hashable, Codable, Sendable {
    case register(ModelRegistration)
    case read(phone: String, by: ModelCredential)
    case list(user: String)
    case remove(phone: String, by: ModelCredential, ifMatch: ModelPrecondition?)
    case logOut(phone: String, by: ModelCredential, keepsAnonymous: Bool, ifMatch: ModelPrecondition?)
    case endSession(String)
    case logOutUser(String, except: String?)
    case erase(String)
    case feedback([ModelFeedback])
    /// `cleanup` ends the binding of this phone if its session has expired.
    case expire(String)

    /// The installation of the call; nil if it has none.
    var phone: String? {
        switch self {
        case .register(let registration): registration.phone
        case .read(let phone, _), .remove(let phone, _, _), .logOut(let phone, _, _, _), .expire(let phone):
            phone
        case .list, .endSession, .logOutUser, .erase, .feedback: nil
        }
    }

    /// The call of a plan as it is sent.
    ///
    /// - Parameters:
    ///   - now: microseconds since 1970.
    ///   - known: the generations of each phone in the client's responses, the newest last.
    func resolved(at now: Int64, known: [String: [Int64]]) -> ModelCall {
        let generations = phone.flatMap { known[$0] } ?? []
        return switch self {
        case .register(var it):
            {
                it.credential = it.credential.resolved(at: now)
                it.ifMatch = it.ifMatch?.resolved(generations)
                return .register(it)
            }()
        case .read(let phone, let credential): .read(phone: phone, by: credential.resolved(at: now))
        case .remove(let phone, let credential, let ifMatch):
            .remove(phone: phone, by: credential.resolved(at: now), ifMatch: ifMatch?.resolved(generations))
        case .logOut(let phone, let credential, let keepsAnonymous, let ifMatch):
            .logOut(
                phone: phone, by: credential.resolved(at: now), keepsAnonymous: keepsAnonymous,
                ifMatch: ifMatch?.resolved(generations))
        case .feedback(let items): .feedback(items.map { $0.resolved(at: now, known: known) })
        case .list, .endSession, .logOutUser, .erase, .expire: self
        }
    }
}

extension [Int64] {
    /// The number that stands this far from the end: -1 is the last one.
    fileprivate func fromEnd(_ index: Int64) -> Int64? {
        let index = count + Int(index)
        return indices.contains(index) ? self[index] : nil
    }
}

/// The credential of a call. Times are microseconds since 1970, as everywhere in the model.
enum ModelCredential: Hashable, Codable, Sendable {
    /// The app's back end, perhaps for a user.
    case service(user: String?, session: String?, expiresAt: Int64?)
    case jwt(user: String, session: String?, issuedAt: Int64)
    case publishableKey

    static let service = ModelCredential.service(user: nil, session: nil, expiresAt: nil)

    var user: String? {
        switch self {
        case .service(let user, _, _): user
        case .jwt(let user, _, _): user
        case .publishableKey: nil
        }
    }

    var session: String? {
        switch self {
        case .service(_, let session, _), .jwt(_, let session, _): session
        case .publishableKey: nil
        }
    }

    var expiresAt: Int64? { if case .service(_, _, let expiresAt) = self { expiresAt } else { nil } }

    var issuedAt: Int64? { if case .jwt(_, _, let issuedAt) = self { issuedAt } else { nil } }

    var isService: Bool { if case .service = self { true } else { false } }

    /// `iat` has whole seconds, and sessions end at midnight.
    fileprivate func resolved(at now: Int64) -> ModelCredential {
        switch self {
        case .service(let user, let session, let days):
            let midnight = now / 86_400_000_000 * 86_400_000_000
            return .service(user: user, session: session, expiresAt: days.map { midnight + $0 })
        case .jwt(let user, let session, let age):
            return .jwt(user: user, session: session, issuedAt: now / 1_000_000 * 1_000_000 + age)
        case .publishableKey: return self
        }
    }
}

enum ModelPrecondition: Hashable, Codable, Sendable {
    case exists
    case generation(Int64)

    var text: String {
        switch self {
        case .exists: "*"
        case .generation(let number): "\"\(number)\""
        }
    }

    /// `*` if no generation is known.
    fileprivate func resolved(_ generations: [Int64]) -> ModelPrecondition {
        guard case .generation(let index) = self else { return self }
        return generations.fromEnd(index).map { .generation($0) } ?? .exists
    }

    func holds(for generation: Int64) -> Bool {
        switch self {
        case .exists: true
        case .generation(let number): number == generation
        }
    }
}

/// The parts of a snapshot that vary.
struct ModelSnapshot: Hashable, Codable, Sendable {
    var authorization: String
    var keychain: String
    /// If nil, the device model decides whether two installations are of one device (R5).
    var vendor: String?

    func device(_ phone: String) -> JSON {
        var device = SampleRegistration.device(phone)
        device["keychainId"] = .string(keychain)
        device["vendorId"] = vendor.map { .string($0) } ?? .null
        return vendor == nil ? device.without("vendorId") : device
    }

    var settings: JSON { SampleRegistration.settings(authorizationStatus: authorization) }
}

struct ModelRegistration: Hashable, Codable, Sendable {
    let phone: String
    let provider: String
    let token: String
    let snapshot: ModelSnapshot
    var credential: ModelCredential
    var ifMatch: ModelPrecondition?
    /// The complete set of tokens beside the main one; nil: it stays.
    var typed: [String]?

    var body: JSON {
        var body = SampleRegistration.make(
            phone, token: token, provider: provider, settings: snapshot.settings, device: snapshot.device(phone))
        guard let typed else { return body }
        body["tokens"] = .array(typed.map { ["kind": "voip", "name": .string($0), "token": .string($0)] })
        return body
    }
}

/// A provider's response to one push: about a token, an installation, or both.
struct ModelFeedback: Hashable, Codable, Sendable {
    let phone: String?
    let provider: String?
    let token: String?
    let reason: String
    var at: Int64?
    var generation: Int64?

    fileprivate func resolved(at now: Int64, known: [String: [Int64]]) -> ModelFeedback {
        var item = self
        item.at = at.map { now + $0 }
        item.generation = generation.flatMap { known[phone ?? ""]?.fromEnd($0) }
        return item
    }
}
