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

/// All points within a radius of a point, measured along the earth's surface.
public struct Circle: Hashable, Sendable {
    /// The earth counts as a sphere of this radius.
    public static let earthRadiusKm = 6_371.0
    /// A little more than half of the earth's circumference, 20,015 km: reaches every point.
    public static let radiusKmMax = 20_038.0

    /// Degrees north, -90 to 90.
    public let latitude: Double
    /// Degrees east, -180 to 180.
    public let longitude: Double
    public let radiusKm: Double

    /// A tenth of a millimetre. Smaller values count as 0, and a smaller radius as this one: PostgreSQL refuses to
    /// compute with the smallest numbers.
    private static let degreesMin = 1e-9
    private static let radiusKmMin = 1e-7

    /// Nil if a value is out of range or not a number. The radius must be above 0.
    public init?(latitude: Double, longitude: Double, radiusKm: Double) {
        guard Location.latitudes.contains(latitude), Location.longitudes.contains(longitude), radiusKm > 0,
            radiusKm <= Self.radiusKmMax
        else { return nil }
        self.latitude = abs(latitude) < Self.degreesMin ? 0 : latitude
        self.longitude = abs(longitude) < Self.degreesMin ? 0 : longitude
        self.radiusKm = max(radiusKm, Self.radiusKmMin)
    }

    /// The latitudes that the circle touches, with a margin for rounding.
    public var latitudes: ClosedRange<Double> {
        let reach = radiusKm / Self.earthRadiusKm * 180 / .pi + 1e-6
        return max(-90, latitude - reach)...min(90, latitude + reach)
    }
}
