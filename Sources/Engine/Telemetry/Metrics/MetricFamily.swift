/// All series of one metric name.
struct MetricFamily: Sendable {
    enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    let name: String
    let kind: Kind
    var help: String?
    /// By the text of their labels.
    var series: [String: any Series] = [:]

    /// The sample names of its lines, which no other family may use.
    var sampleNames: [String] {
        switch kind {
        case .counter, .gauge: [name]
        case .histogram: [name, name + "_bucket", name + "_sum", name + "_count"]
        }
    }

    func write(to text: inout ExpositionText) {
        text.header(self)
        for (labels, series) in series.sorted(by: { $0.key < $1.key }) {
            series.write(name, labels: labels, to: &text)
        }
    }
}

/// The values of one metric name with one set of labels. The same name and labels share one object, on all threads.
protocol Series: AnyObject, Sendable {
    func write(_ name: String, labels: String, to text: inout ExpositionText)
}
