/// A location, rounded to two decimals of a degree (about a kilometre): enough for audiences, too coarse for a home.
public struct Location: Hashable, Sendable {
    public static let latitudes = -90.0...90.0
    public static let longitudes = -180.0...180.0

    /// Degrees north.
    public let latitude: Double
    /// Degrees east.
    public let longitude: Double

    /// Rounds both values; nil if one is out of range or not a number.
    public init?(latitude: Double, longitude: Double) {
        guard Self.latitudes.contains(latitude), Self.longitudes.contains(longitude) else { return nil }
        self.latitude = Self.rounded(latitude)
        self.longitude = Self.rounded(longitude)
    }

    /// Adding zero turns -0 into 0, so that each value has one text.
    private static func rounded(_ degrees: Double) -> Double {
        (degrees * 100).rounded() / 100 + 0
    }
}
