/// A response that cannot be put on the wire as it is: a defect of the server, never the client's fault.
public enum ResponseError: Error, Hashable {
    /// Only final responses are encoded so, 200 to 599.
    case invalidStatus(Int)
    /// A value holds a control character; with CR and LF it would begin a second response.
    case invalidFieldValue(name: String)
    /// Content-Length, Transfer-Encoding, Connection and Date follow from the response and are written by the encoder.
    case reservedField(name: String)
    /// The date's bytes are not those of a field value.
    case invalidDate
}
