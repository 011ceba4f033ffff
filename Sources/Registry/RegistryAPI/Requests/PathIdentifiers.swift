import HTTPApplication
import PushRegistry

extension InstallID {
    /// The `installId` of the path.
    init(_ request: ServerRequest) throws(APIError) {
        self = try request.identifier("installId") { (text) throws(InvalidValue) in try InstallID(text) }
    }
}

extension ServerRequest {
    /// An identifier of the path.
    ///
    /// - Throws: `APIError.invalidParameters`.
    func identifier<Identifier>(
        _ name: String, _ parse: (String) throws(InvalidValue) -> Identifier
    ) throws(APIError) -> Identifier {
        do throws(InvalidValue) {
            return try parse(parameters[name])
        } catch {
            throw .invalidParameters([ParameterFault(parameter: name, code: error.code, detail: error.detail)])
        }
    }
}
