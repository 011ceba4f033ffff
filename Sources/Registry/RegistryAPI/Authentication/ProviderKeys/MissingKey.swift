import PushRegistry

/// No current key verifies the JWT, but the app's identity provider may have published another key.
struct MissingKey: Error {
    let app: App
    /// Why the JWT is refused if there is no other key.
    let fault: UserTokenFault
}

extension ProviderKeySets {
    /// Verifies a JWT. If a key is missing, fetches the key set and verifies once more.
    ///
    /// - Parameter first: the result of the first attempt, if there was one already.
    /// - Throws: `APIError.invalidUserToken`, `.keySetUnavailable`; what `verify` throws.
    func fetchingMissingKey<Value>(
        first: Result<Value, any Error>? = nil, _ verify: () throws -> Value
    ) async throws -> Value {
        do {
            return try first?.get() ?? verify()
        } catch let missing as MissingKey {
            switch await fetchMissingKey(of: missing.app) {
            case .fetched: return try verify()
            case .refused: throw APIError.invalidUserToken(missing.fault)
            case .unavailable(let wait): throw APIError.keySetUnavailable(retryAfter: wait)
            }
        }
    }
}
