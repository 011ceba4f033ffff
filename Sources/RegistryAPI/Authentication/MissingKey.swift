import PushRegistry

/// A JWT that no present key proves, of an app whose identity provider may have published another key.
struct MissingKey: Error {
    let app: App
    /// Why it is refused if there is none.
    let fault: UserTokenFault
}

extension RegistryService {
    /// Judges a request, and once more if it lacked a key that was fetched then.
    ///
    /// - Parameter first: the first judgement, if there is one already.
    /// - Throws: `APIError.invalidUserToken`, `.keySetUnavailable`, what `judge` throws.
    func fetchingMissingKey<Value>(
        first: Result<Value, any Error>? = nil, _ judge: () throws -> Value
    ) async throws -> Value {
        do {
            return try first?.get() ?? judge()
        } catch let missing as MissingKey {
            switch await keySets.fetchMissingKey(of: missing.app) {
            case .fetched: return try judge()
            case .refused: throw APIError.invalidUserToken(missing.fault)
            case .unavailable(let wait): throw APIError.keySetUnavailable(retryAfter: wait)
            }
        }
    }
}
