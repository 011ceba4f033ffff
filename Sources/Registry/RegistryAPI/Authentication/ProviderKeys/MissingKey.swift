import PushRegistry

/// No current key verifies the JWT, but the app's identity provider may have published another key.
struct MissingKey: Error {
    let app: App
    /// Why the JWT is refused if there is no other key.
    let fault: UserTokenFault
}

extension RegistryService {
    /// Authorizes a request. If a key is missing, fetches the key set and authorizes the request once more.
    ///
    /// - Parameter first: the result of the first attempt, if there was one already.
    /// - Throws: `APIError.invalidUserToken`, `.keySetUnavailable`; what `authorize` throws.
    func fetchingMissingKey<Value>(
        first: Result<Value, any Error>? = nil, _ authorize: () throws -> Value
    ) async throws -> Value {
        do {
            return try first?.get() ?? authorize()
        } catch let missing as MissingKey {
            switch await keySets.fetchMissingKey(of: missing.app) {
            case .fetched: return try authorize()
            case .refused: throw APIError.invalidUserToken(missing.fault)
            case .unavailable(let wait): throw APIError.keySetUnavailable(retryAfter: wait)
            }
        }
    }
}
