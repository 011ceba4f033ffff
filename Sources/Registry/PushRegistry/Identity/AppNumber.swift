/// The store's number of an app. The public name is `AppID`.
public struct AppNumber: Hashable, Comparable, Sendable {
    public let rawValue: Int32

    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    public static func < (left: AppNumber, right: AppNumber) -> Bool { left.rawValue < right.rawValue }
}
