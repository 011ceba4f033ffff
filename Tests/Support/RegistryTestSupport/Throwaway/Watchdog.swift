import Subprocess

/// A shell in its own session that waits for the end of a pipe, which comes when this process closes it or dies, and
/// then removes a throw-away cluster.
///
/// A parent-death signal is no alternative: it depends on the thread that started the child, and PostgreSQL's server is
/// started by `pg_ctl`, which exits as soon as the server runs.
enum Watchdog {
    /// `$1` is the cluster's folder. The server is recognized by its arguments, because its id may have been reused;
    /// SIGQUIT is its immediate shutdown. It may still write files while it stops, so the removal is repeated.
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

    /// Runs `body` while a watchdog guards `folder`, and returns when both have ended.
    static func guarding<Value: Sendable>(
        _ folder: String, _ body: () async throws -> Value
    ) async throws -> Value {
        var options = PlatformOptions()
        options.createSession = true
        // A cancelled body needs time to end; the watchdog ignores the signal meanwhile.
        options.teardownSequence = [.send(signal: .terminate, allowedDurationToNextStep: .seconds(60))]
        let outcome = try await Subprocess.run(
            .name("sh"), arguments: ["-c", script, "watchdog", folder], platformOptions: options,
            input: .inputWriter, output: .discarded, error: .discarded
        ) { _ -> Result<Value, any Error> in
            // An error that leaves this closure would kill the watchdog before it has cleaned up.
            do { return .success(try await body()) } catch { return .failure(error) }
        }
        return try outcome.closureResult.get()
    }
}
