/// A condition did not become true in time.
public struct DeadlineMissed: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Waits until a condition is true. Checks become rarer, from every two to every fifty milliseconds: they use the
/// processors that the condition needs.
///
/// - Throws: `DeadlineMissed`, or what `isSo` throws.
public func eventually(
    _ what: String = "it is so", within limit: Duration = .seconds(60), _ isSo: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    var pause = Duration.milliseconds(2)
    while try await !isSo() {
        guard ContinuousClock.now < deadline else { throw DeadlineMissed("not within \(limit): \(what)") }
        try await Task.sleep(for: pause)
        pause = min(pause * 1.5, .milliseconds(50))
    }
}

/// Does something with each element at the same time, and waits for all.
public func atOnce<Elements: Sequence>(
    _ elements: Elements, _ body: @escaping @Sendable (Elements.Element) async throws -> Void
) async throws where Elements.Element: Sendable {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for element in elements { group.addTask { try await body(element) } }
        try await group.waitForAll()
    }
}
