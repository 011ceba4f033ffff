import Subprocess

/// A shell in a session of its own that waits for the end of a pipe, which comes when this process closes it or dies,
/// and then removes a throw-away cluster.
///
/// A parent-death signal is no substitute: it is tied to the thread that started the child, and PostgreSQL's server is
/// started through `pg_ctl`, whose death it would follow instead.
enum Watchdog {
    /// `$1` is the cluster's folder. The server is told by its arguments, since the id may be another process's by
    /// now; SIGQUIT is its immediate shutdown. What it still writes while it ends can defeat one removal, not all.
    private static let script = """
        trap '' HUP INT TERM
        cd /
        cat > /dev/null
        id=$(head -n 1 "$1/postgres/data/postmaster.pid" 2> /dev/null)
        grep -qsF "$1/postgres/data" "/proc/$id/cmdline" && kill -QUIT "$id"
        for attempt in 1 2 3 4 5 6 7 8 9 10; do
            rm -rf "$1" 2> /dev/null && break
        done
        """

    /// Runs `body` under the eyes of a watchdog for `folder`, and returns when both are done.
    static func guarding<Value: Sendable>(
        _ folder: String, _ body: () async throws -> Value
    ) async throws -> Value {
        var options = PlatformOptions()
        options.createSession = true
        // A cancelled body still has to be given the time to end; the watchdog ignores the signal meanwhile.
        options.teardownSequence = [.send(signal: .terminate, allowedDurationToNextStep: .seconds(60))]
        let outcome = try await Subprocess.run(
            .name("sh"), arguments: ["-c", script, "watchdog", folder], platformOptions: options,
            input: .inputWriter, output: .discarded, error: .discarded
        ) { _ -> Result<Value, any Error> in
            // An error that left this closure would kill the watchdog before it has cleaned up.
            do { return .success(try await body()) } catch { return .failure(error) }
        }
        return try outcome.closureResult.get()
    }
}
