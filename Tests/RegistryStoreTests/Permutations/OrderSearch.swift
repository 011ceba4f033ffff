/// The search for all orders of statements that can make a difference: dynamic partial-order reduction (Flanagan and
/// Godefroid, 2005) with sleep sets (Godefroid, 1996). Each order is one execution. An order that only exchanges
/// independent neighbours of an earlier one is left out.
final class OrderSearch {
    /// A moment of an execution: what each caller that is not blocked would do next.
    fileprivate final class Node {
        let next: [Int: Footprint]
        /// Callers whose turn here would repeat an earlier order.
        let asleep: Set<Int>
        var children: [Int: Node] = [:]
        /// Callers that have had their turn here, in this order.
        var taken: [Int] = []
        var wanted: Set<Int> = []

        init(_ next: [Int: Footprint], asleep: Set<Int>) {
            (self.next, self.asleep) = (next, asleep)
        }

        var open: [Int] { wanted.subtracting(taken).subtracting(asleep).sorted() }
    }

    private struct Step {
        let caller: Int
        let footprint: Footprint
        let node: Node
        /// The steps before it that it must follow, in each caller the index of the last one.
        var clock: [Int: Int]
    }

    private var root: Node?
    private var prefix: [Int] = []
    private var steps: [Step] = []
    private var node: Node?
    private(set) var count = 0

    /// The callers of the present execution, in order.
    var order: [Int] { steps.map(\.caller) }

    /// Begins an execution.
    ///
    /// - Returns: false if there is no further order.
    func begin(_ dice: inout some RandomNumberGenerator) -> Bool {
        if count > 0 {
            guard let next = openPrefixes().randomElement(using: &dice) else { return false }
            prefix = next
        }
        (steps, node) = ([], nil)
        count += 1
        return true
    }

    /// Chooses among the callers that are not blocked: the one whose turn it is, else the same as before.
    func choose(_ next: [Int: Footprint]) -> Int {
        let present = enter(next)
        var choice = steps.last?.caller ?? next.keys.min()!
        if steps.count < prefix.count, next[prefix[steps.count]] != nil {
            choice = prefix[steps.count]
        } else if next[choice] == nil || present.asleep.contains(choice) {
            choice = next.keys.filter { !present.asleep.contains($0) }.min() ?? next.keys.min()!
        }
        if !present.taken.contains(choice) { present.taken.append(choice) }
        add(Step(caller: choice, footprint: next[choice]!, node: present, clock: [:]))
        return choice
    }

    private func enter(_ next: [Int: Footprint]) -> Node {
        guard let last = steps.last else {
            let first = root ?? Node(next, asleep: [])
            root = first
            return first
        }
        if let child = last.node.children[last.caller] { return child }
        let before = last.node.asleep.union(last.node.taken.prefix { $0 != last.caller })
        let asleep = before.filter { caller in
            caller != last.caller && last.node.next[caller].map { !$0.depends(on: last.footprint) } ?? false
        }
        let child = Node(next, asleep: asleep)
        last.node.children[last.caller] = child
        return child
    }

    /// Wants another turn wherever this step might have come before a step that it depends on.
    private func add(_ step: Step) {
        var step = step
        let index = steps.count
        step.clock = steps.last { $0.caller == step.caller }?.clock ?? [:]
        for (earlier, other) in steps.enumerated().reversed() where other.caller != step.caller {
            guard step.footprint.depends(on: other.footprint), step.clock[other.caller, default: -1] < earlier
            else { continue }
            if other.node.next[step.caller] != nil {
                other.node.wanted.insert(step.caller)
            } else {
                other.node.wanted.formUnion(other.node.next.keys)
            }
            step.clock.merge(other.clock) { max($0, $1) }
        }
        step.clock[step.caller] = index
        steps.append(step)
    }

    private func openPrefixes() -> [[Int]] {
        var found: [[Int]] = []
        func visit(_ node: Node, _ path: [Int]) {
            found += node.open.map { path + [$0] }
            for (caller, child) in node.children { visit(child, path + [caller]) }
        }
        if let root { visit(root, []) }
        return found.sorted { $0.lexicographicallyPrecedes($1) }
    }
}
