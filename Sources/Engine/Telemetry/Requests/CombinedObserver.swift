public import HTTPApplication

/// Notifies several observers, in order.
public struct CombinedObserver: RequestObserver {
    private let observers: [any RequestObserver]

    /// Observers are called in this order.
    public init(_ observers: [any RequestObserver]) {
        self.observers = observers
    }

    public func didFinish(_ request: FinishedRequest) {
        for observer in observers { observer.didFinish(request) }
    }
}
