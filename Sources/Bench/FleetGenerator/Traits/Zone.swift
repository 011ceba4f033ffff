import PushRegistry

/// A time zone with its city.
struct Zone: Sendable {
    let id: String
    /// Seconds east of UTC.
    let offset: Int32
    let latitude: Double
    let longitude: Double

    /// The zones of each region, by ISO 3166 code in upper case.
    static let byRegion: [String: WeightedChoice<Zone>] = Dictionary(
        uniqueKeysWithValues: ZoneWeights.lines.split(separator: "\n").map { line in
            let items = line.split(separator: " ")
            return (String(items[0]), WeightedChoice(items.dropFirst().map(weighted)))
        })

    private static func weighted(_ item: Substring) -> (value: Zone, weight: Int) {
        let fields = item.split(separator: ",").map(String.init)
        guard fields.count == 5, let offset = Int32(fields[1]), let latitude = Double(fields[2]),
            let longitude = Double(fields[3]), let weight = Int(fields[4])
        else { preconditionFailure("not a time zone: \(item)") }
        return (Zone(id: fields[0], offset: offset, latitude: latitude, longitude: longitude), weight)
    }

    /// A random location around the city, as far as a suburb or the next town.
    func randomLocation(_ random: inout FleetRandom) -> Location? {
        Location(
            latitude: latitude + (random.fraction() - 0.5) / 2, longitude: longitude + (random.fraction() - 0.5) / 2)
    }
}
