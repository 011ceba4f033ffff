/// All series of one metric name.
struct MetricFamily: Sendable {
    let name: String
    let kind: MetricKind
    let help: String?
    /// By the text of their labels.
    var series: [String: any Series] = [:]

    /// The sample names of its lines, which no other family may use.
    var sampleNames: [String] {
        switch kind {
        case .counter, .gauge: [name]
        case .histogram: [name, name + "_bucket", name + "_sum", name + "_count"]
        }
    }

    init(name: String, kind: MetricKind, help: String?) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// A metric without labels.
    init(_ description: MetricDescription, _ series: any Series) {
        self.init(name: description.name, kind: description.kind, help: description.help)
        self.series = ["": series]
    }

    /// - Parameter fullName: the name that Prometheus sees.
    func write(as fullName: String, to text: inout ExpositionText) {
        text.header(fullName, kind, help)
        for (labels, series) in series.sorted(by: { $0.key < $1.key }) {
            series.write(fullName, labels: labels, to: &text)
        }
    }
}

/// The values of one metric name with one set of labels. The same name and labels share one object, on all threads.
protocol Series: AnyObject, Sendable {
    func write(_ name: String, labels: String, to text: inout ExpositionText)
}
