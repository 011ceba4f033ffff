/// Why a document could not be fetched. The description is for the operator's log.
public enum FetchFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// libcurl.so.4 cannot be loaded.
    case missingLibrary(String)
    /// The host name resolves to an address that must not be called.
    case refusedAddress(String)
    case status(Int)
    case tooLarge(bytesMax: Int)
    /// A failure of name resolution, connection, certificate, time or redirects, as libcurl describes it.
    case transport(String)

    public var description: String {
        switch self {
        case .missingLibrary(let reason): "libcurl cannot be loaded, install the package libcurl4: \(reason)"
        case .refusedAddress(let address): "the address \(address) must not be called"
        case .status(let status): "the response has the status \(status)"
        case .tooLarge(let bytesMax): "the document has more than \(bytesMax) bytes"
        case .transport(let reason): reason
        }
    }
}
