import HTTPTypes

/// A method as a label. Only methods that HTTP defines have their own, so that clients cannot create series.
enum MethodLabel: String {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
    case connect = "CONNECT"
    case trace = "TRACE"
    /// An unknown method, or no request at all.
    case other

    init(_ method: HTTPRequest.Method?) {
        self =
            switch method {
            case .get: .get
            case .put: .put
            case .post: .post
            case .delete: .delete
            case .patch: .patch
            case .head: .head
            case .options: .options
            case .connect: .connect
            case .trace: .trace
            default: .other
            }
    }
}
