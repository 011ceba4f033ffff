import FleetGenerator
import PushRegistry

/// The requests of each row. Rows do not share installations: one that was changed is no longer unchanged.
struct Pools {
    /// More than the service is going to carry in a second.
    private static let firstPerSecondMax = 15_000

    let unchanged: RequestSequence
    let changed: RequestSequence
    let healthz = RequestSequence(
        RequestPool([Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)]), .random)
    private let fleet: Fleet
    private let writer: RegistrationWriter

    /// - Parameter installationsMax: of each pool, taken from the whole fleet at even distances; one that is large
    ///   enough leaves hardly a page of the table out.
    init(_ fleet: Fleet, key: String, installationsMax: Int, rows: [Row]) {
        let writer = RegistrationWriter(app: fleet.app.id, key: key)
        let count = max(1, min(installationsMax, fleet.count / 2))
        let step = fleet.count / count
        let numbers = (0..<count).lazy.map { $0 * step }
        unchanged = RequestSequence(
            RequestPool(rows.contains(.unchanged) ? numbers.map { writer.request(fleet[$0]) } : []), .random)
        let twice = numbers.flatMap { number in
            let installation = fleet[number + step / 2]
            return [1, 2].map { writer.request(installation, settings: installation.settings.toggled($0)) }
        }
        changed = RequestSequence(RequestPool(rows.contains(.changed) ? Array(twice) : []), .alternating)
        (self.fleet, self.writer) = (fleet, writer)
    }

    /// Installations that no round before had.
    func first(round: Int, seconds: Int) -> RequestSequence {
        let count = seconds * Self.firstPerSecondMax
        let start = fleet.count + round * count
        return RequestSequence(RequestPool((start..<start + count).lazy.map { writer.request(fleet[$0]) }), .once)
    }
}
