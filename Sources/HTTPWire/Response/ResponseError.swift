/// A response that cannot be encoded: a defect of the server, never the client's fault.
public enum ResponseError: Error, Hashable {
    /// The status is not that of a final response, 200 to 599.
    case invalidStatus(Int)
    /// A value contains a control character; CR and LF would start a second response.
    case invalidFieldValue(name: String)
    /// Only the encoder may write Content-Length, Transfer-Encoding, Connection and Date.
    case reservedField(name: String)
    /// The date is not a valid field value.
    case invalidDate
}
