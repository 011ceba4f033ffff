import Foundation

#if os(iOS) || os(tvOS) || os(visionOS)
import BackgroundTasks
#endif

extension PushRegistryClient {
    /// When the app should run again although nobody opens it: at the next attempt of a call that failed, or after half
    /// of the time in which the registry makes the installation stale. Nil if there is nothing to send.
    public var backgroundRefreshDate: Date? {
        load()
        return machine.backgroundDate
    }

    #if os(iOS) || os(tvOS) || os(visionOS)
    /// Asks the system to run the app at `backgroundRefreshDate`, or later. Call it when the app leaves the foreground,
    /// and at the end of each background task.
    ///
    /// - Parameter identifier: that of the app's task, as in `BGTaskSchedulerPermittedIdentifiers`.
    /// - Throws: an error of `BGTaskScheduler`, for example if the person has turned background refresh off.
    public func scheduleBackgroundRefresh(_ identifier: String) throws {
        guard let date = backgroundRefreshDate else { return }
        let request = BGAppRefreshTaskRequest(identifier: identifier)
        request.earliestBeginDate = date
        try BGTaskScheduler.shared.submit(request)
    }
    #endif
}
