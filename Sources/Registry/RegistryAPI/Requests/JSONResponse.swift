import HTTPApplication
import HTTPTypes
import StrictJSON

extension ServerResponse {
    static func json(
        _ writer: JSONWriter, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]
    ) -> ServerResponse {
        var fields = fields
        fields[.contentType] = "application/json"
        return ServerResponse(status, fields: fields, body: .bytes(writer.bytes))
    }
}
