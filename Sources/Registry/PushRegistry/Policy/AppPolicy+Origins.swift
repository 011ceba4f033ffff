extension AppPolicy {
    /// Whether web pages of `origin` may call the app's API. Origins are compared exactly, as browsers send them.
    public func allows(origin: String) -> Bool {
        allowedOrigins.contains { $0 == "*" || $0.utf8.elementsEqual(origin.utf8) }
    }
}
