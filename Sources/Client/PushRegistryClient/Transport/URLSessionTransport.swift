import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension PushRegistryClient {
    /// Sends requests with a `URLSession` of its own: without cookies, cache or stored credentials.
    ///
    /// It follows no redirect, because the credential is for the registry only.
    public struct URLSessionTransport: Transport {
        /// The largest response that is accepted. A page of 100 notifications is at most half as large.
        static let responseBytesMax = 1 << 20

        private let session: URLSession
        private let redirects = RedirectRefusal()

        /// - Parameter timeout: for one request, in seconds.
        public init(timeout: TimeInterval = 30) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = timeout
            configuration.timeoutIntervalForResource = timeout
            configuration.httpShouldSetCookies = false
            configuration.urlCache = nil
            session = URLSession(configuration: configuration)
        }

        public func send(_ request: Request) async throws -> Response {
            var urlRequest = URLRequest(url: request.url)
            urlRequest.httpMethod = request.method
            urlRequest.httpBody = request.body
            for (name, value) in request.fields { urlRequest.setValue(value, forHTTPHeaderField: name) }
            let (data, response) = try await session.data(for: urlRequest, delegate: redirects)
            guard let response = response as? HTTPURLResponse, data.count <= Self.responseBytesMax else {
                throw URLError(.badServerResponse)
            }
            let fields = response.allHeaderFields.compactMap { name, value -> (String, String)? in
                guard let name = name as? String, let value = value as? String else { return nil }
                return (name, value)
            }
            return Response(status: response.statusCode, fields: Dictionary(fields) { $1 }, body: data)
        }
    }
}

private final class RedirectRefusal: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
