import Foundation

/// Writes `application/x-www-form-urlencoded`, which the query of a URL and the body of a form share.
///
/// Every byte is escaped but letters, digits and `-._~`, so the text is right in both. (`URLComponents` leaves `+` as
/// it is, which a form reads as a space.)
public enum FormEncoding {
    private static let plain = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    /// - Parameter fields: in the order of the text.
    public static func text(of fields: [(name: String, value: String)]) -> String {
        fields.map { "\(text(of: $0.name))=\(text(of: $0.value))" }.joined(separator: "&")
    }

    public static func text(of value: String) -> String {
        guard let text = value.addingPercentEncoding(withAllowedCharacters: plain) else {
            preconditionFailure("every string of Swift can be encoded")
        }
        return text
    }
}
