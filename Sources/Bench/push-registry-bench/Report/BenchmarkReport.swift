/// The result of a benchmark: its figures, in the order in which they were measured first.
struct BenchmarkReport: Sendable {
    /// A value of the other side, with its name.
    typealias Other<Value> = (name: String, value: Value)

    let title: String
    private(set) var figures: [Figure] = []
    /// The conditions of the measurement, and results that are less reliable than they look; for people.
    private(set) var notes: [String] = []

    init(_ title: String) {
        self.title = title
    }

    mutating func note(_ note: String) {
        if !notes.contains(note) { notes.append(note) }
    }

    /// Adds one round of a figure.
    ///
    /// - Parameter other: measured in the same round.
    mutating func add(
        _ title: String, _ value: Double, _ unit: String, against other: Other<Double>? = nil,
        _ target: Figure.Target = .none
    ) {
        let index =
            figures.firstIndex { $0.title == title }
            ?? {
                figures.append(Figure(title: title, unit: unit, otherName: other?.name ?? "", target: target))
                return figures.count - 1
            }()
        figures[index].add(value, other?.value)
    }

    /// Adds one round of a row: its rate, and what one request costs.
    ///
    /// - Parameter target: of the rate.
    mutating func add(
        _ title: String, _ own: Measurement, against other: Other<Measurement>? = nil, _ target: Figure.Target = .none
    ) {
        let costs: [(String, String, (Measurement) -> Double?)] = [
            ("p99", "ms", \.p99Milliseconds), ("service CPU", "µs", \.serviceMicroseconds),
            ("PostgreSQL CPU", "µs", \.postgresMicroseconds),
        ]
        add(title, own.perSecond, "a second", against: other.map { ($0.name, $0.value.perSecond) }, target)
        for (what, unit, cost) in costs {
            guard let value = cost(own) else { continue }
            let compared = other.flatMap { other in cost(other.value).map { (other.name, $0) } }
            add("\(title): \(what)", value, unit, against: compared)
        }
        for (name, run) in [("", own)] + (other.map { [(", \($0.name)", $0.value)] } ?? []) {
            if run.failures > 0 { note("\(title)\(name): responses were errors") }
            if let share = run.expectedShare, share < 0.99 {
                note("\(title)\(name): only \((share * 100).rounded()) % of the responses were as expected")
            }
        }
    }

    /// Ends with a line break.
    var text: String {
        ([FigureTable(self).text] + notes).joined(separator: "\n") + "\n"
    }
}
