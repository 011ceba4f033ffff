/// Why a document could not be fetched. The text is for an operator's log.
public enum FetchFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// libcurl.so.4 cannot be loaded.
    case missingLibrary(String)
    /// The host's name leads to an address that may not be called.
    case refusedAddress(String)
    case status(Int)
    case tooLarge(bytesMax: Int)
    /// Name, connection, certificate, time or redirect: libcurl's own words.
    case transport(String)

    public var description: String {
        switch self {
        case .missingLibrary(let reason): "libcurl cannot be loaded, install the package libcurl4: \(reason)"
        case .refusedAddress(let address): "\(address) may not be called"
        case .status(let status): "the answer has the status \(status)"
        case .tooLarge(let bytesMax): "the document has more than \(bytesMax) bytes"
        case .transport(let reason): reason
        }
    }
}
