extension AppPolicy {
    /// Whether web pages of `origin`, as their browser names it, may call for the app. Origins are compared exactly.
    public func allows(origin: String) -> Bool {
        allowedOrigins.contains { $0 == "*" || $0.utf8.elementsEqual(origin.utf8) }
    }
}
