import HTTPApplication
import HTTPTypes
import StrictJSON

/// `application/problem+json` (RFC 9457).
enum ProblemDocument {
    static func response(_ error: APIError, _ requestID: RequestID) -> ServerResponse {
        response(error.problem, requestID) { writer in
            switch error {
            case .invalidBody(let faults), .pushServiceNotAllowed(let faults), .segmentCycle(let faults),
                .topicLocked(let faults):
                writer.faults(faults)
            case .invalidParameters(let faults): writer.faults(faults)
            case .outdated(let generation?): writer.member("generation", generation)
            case .notificationsGone(let epoch, let first, let last):
                writer.member("epoch", epoch)
                writer.member("first", first)
                writer.member("last", last)
            default: break
            }
        }
    }

    @Sendable static func response(_ problem: Problem, _ requestID: RequestID) -> ServerResponse {
        response(problem, requestID) { _ in }
    }

    private static func response(
        _ problem: Problem, _ requestID: RequestID, _ more: (inout JSONWriter) -> Void
    ) -> ServerResponse {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("type", ErrorPage.link(to: problem.code))
            writer.member("title", problem.status.reasonPhrase)
            writer.member("status", problem.status.code)
            writer.member("detail", problem.detail)
            writer.member("code", problem.code)
            writer.member("requestId", requestID.description)
            more(&writer)
        }
        var fields = problem.fields
        fields[.contentType] = "application/problem+json"
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        return ServerResponse(problem.status, fields: fields, body: .bytes(writer.bytes))
    }
}

extension JSONWriter {
    fileprivate mutating func faults(_ faults: [JSONFault]) {
        objects("errors", faults) { writer, fault in
            writer.member("pointer", fault.pointer)
            writer.member("code", fault.code.rawValue)
            writer.member("detail", fault.detail)
            if let offset = fault.offset { writer.member("offset", offset) }
        }
    }

    fileprivate mutating func faults(_ faults: [ParameterFault]) {
        objects("errors", faults) { writer, fault in
            writer.member("parameter", fault.parameter)
            writer.member("code", fault.code)
            writer.member("detail", fault.detail)
        }
    }
}
