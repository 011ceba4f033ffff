/// Several values, each of which is chosen with the probability of its weight.
struct WeightedChoice<Value: Sendable>: Sendable {
    let values: [Value]
    /// The sum of the weights of each value and all before it.
    private let sums: [Int]

    init(_ weighted: [(value: Value, weight: Int)]) {
        values = weighted.map(\.value)
        var sum = 0
        sums = weighted.map { item in
            sum += item.weight
            return sum
        }
    }

    var total: Int { sums.last ?? 0 }

    /// The share of the value at `index`, 0 to 1.
    func share(_ index: Int) -> Double {
        Double(sums[index] - (index == 0 ? 0 : sums[index - 1])) / Double(total)
    }

    func pick(_ random: inout FleetRandom) -> Value {
        let drawn = random.below(total)
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > drawn { high = middle } else { low = middle + 1 }
        }
        return values[low]
    }
}

extension WeightedChoice<String> {
    /// - Parameter table: items `value=weight` separated by white space; the weights are integers.
    init(_ table: String) {
        self.init(
            table.split(whereSeparator: \.isWhitespace).map { item in
                let parts = item.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let weight = Int(parts[1]) else { preconditionFailure("not a weight: \(item)") }
                return (String(parts[0]), weight)
            })
    }
}
