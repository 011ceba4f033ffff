import RegistryTestSupport

/// A call of the model-based tests.
enum ModelCall: Hashable, Sendable {
    case register(ModelRegistration)
    case read(phone: String, by: ModelCredential)
    case list(user: String)
    case remove(phone: String, by: ModelCredential, ifMatch: ModelPrecondition?)
    case logOut(phone: String, by: ModelCredential, keepsAnonymous: Bool, ifMatch: ModelPrecondition?)
    case endSession(String)
    case logOutUser(String, except: String?)
    case erase(String)
    case feedback([ModelFeedback])
}

/// The credential of a call. Times are microseconds since 1970, as everywhere in the model.
enum ModelCredential: Hashable, Sendable {
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
}

enum ModelPrecondition: Hashable, Sendable {
    case exists
    case generation(Int64)

    var text: String {
        switch self {
        case .exists: "*"
        case .generation(let number): "\"\(number)\""
        }
    }

    func holds(for generation: Int64) -> Bool {
        switch self {
        case .exists: true
        case .generation(let number): number == generation
        }
    }
}

/// The parts of a snapshot that vary.
struct ModelSnapshot: Hashable, Sendable {
    var authorization: String
    var keychain: String
    /// If nil, the device model decides whether two installations are of one device (R5).
    var vendor: String?

    func device(_ phone: String) -> JSON {
        var device = RegistrationBody.device(phone)
        device["keychainId"] = .string(keychain)
        device["vendorId"] = vendor.map { .string($0) } ?? .null
        return vendor == nil ? device.without("vendorId") : device
    }

    var settings: JSON { RegistrationBody.settings(authorizationStatus: authorization) }
}

struct ModelRegistration: Hashable, Sendable {
    let phone: String
    let provider: String
    let token: String
    let snapshot: ModelSnapshot
    let credential: ModelCredential
    let ifMatch: ModelPrecondition?

    var body: JSON {
        RegistrationBody.make(
            phone, token: token, provider: provider, settings: snapshot.settings, device: snapshot.device(phone))
    }
}

/// A provider's response to one push: about a token, an installation, or both.
struct ModelFeedback: Hashable, Sendable {
    let phone: String?
    let provider: String?
    let token: String?
    let reason: String
    let at: Int64?
    let generation: Int64?
}
