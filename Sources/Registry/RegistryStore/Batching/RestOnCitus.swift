import EventLoop

extension EventLoop {
    /// Waits before an app's next statements on Citus, where they cost nearly the same for one item as for many: for
    /// half of the time that the last ones took, and at most 50 ms. Clients that just got their responses may send
    /// their next requests meanwhile, which share the next statements. Else these clients would alternate with the
    /// others, in twice as many batches of half the size.
    ///
    /// Returns at once if the task is cancelled.
    func rest(after duration: Duration) async {
        try? await sleep(for: min(duration / 2, .milliseconds(50)))
    }
}
