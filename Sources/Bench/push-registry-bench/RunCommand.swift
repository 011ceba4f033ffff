import ArgumentParser

struct RunCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Measure registrations and the HTTP engine.",
        discussion: """
            Starts a throw-away PostgreSQL with fsync on, loads a fleet, and measures in turn, round after round, on \
            the same tables: pgbench with one-row prepared statements on 8 connections, and "push-registry serve", the \
            release binary beside this one, under load by wrk. Prints a table of the medians.

            Rows: unchanged, changed and first registrations; takeover (a new installation registers with the token of \
            another), ownerChange (an installation registers for another user), logout, topics (a PATCH of an \
            installation's choices) and post (a notification for one installation), all compared with changed \
            registrations of the same run; fetch (of notifications, with nothing missed), compared with unchanged \
            registrations; feedback (calls of 10,000 items, each of which changes an installation); healthz (GET \
            /healthz); engine (the HTTP engine alone, without a database: TLS compared with plain, and with \
            Hummingbird 2, which --with-hummingbird downloads and builds in .build-hummingbird; once built, it is \
            always measured).

            pgbench has less to do: no events, no history, one statement that updates in place. Compare ratios, and \
            only within one run: everything shares this machine's cores.
            """)

    @Option(parsing: .upToNextOption, help: "The rows to measure.")
    var rows = [RowList.all]

    @Option(help: "Installations in the database.")
    var count: Int?

    @Option(help: "Seconds that each measurement lasts.")
    var seconds: Int?

    @Option(help: "Rounds; the medians count.")
    var rounds: Int?

    @Option(help: "HTTP connections.")
    var connections = 64

    @Option(
        help: """
            Microseconds to add to each flush of the WAL (commit_delay), for both sides: for a disk that responds from \
            memory, where production's takes a millisecond.
            """)
    var flushDelay = 0

    @Flag(help: "A short test run: 50,000 installations, one round of 2 seconds.")
    var quick = false

    @Flag(help: "Build the Hummingbird 2 server for the row engine; takes minutes the first time.")
    var withHummingbird = false

    @OptionGroup var common: BenchmarkOptions

    private var options: RunOptions {
        var options = RunOptions()
        if quick {
            (options.count, options.seconds, options.rounds) = (50_000, 2, 1)
            options.idleConnections = 1_000
        }
        options.rows = rows.flatMap(\.rows)
        options.count = count ?? options.count
        options.seconds = seconds ?? options.seconds
        options.rounds = rounds ?? options.rounds
        (options.connections, options.seed) = (connections, common.seed)
        options.flushDelayMicroseconds = flushDelay
        options.writesAccessLog = common.writesAccessLog
        return options
    }

    func validate() throws {
        guard options.count >= 1_000 else { throw ValidationError("--count must be 1000 or more.") }
        guard options.seconds > 0, options.rounds > 0, (1...10_000).contains(connections) else {
            throw ValidationError("--seconds and --rounds must be above 0, --connections 1 to 10000.")
        }
        guard (0...100_000).contains(flushDelay) else { throw ValidationError("--flush-delay must be 0 to 100000.") }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        var report = BenchmarkReport(
            flushDelay == 0 ? "registrations" : "registrations, \(flushDelay) µs added to each flush")
        if options.wantsDatabase {
            try await RunBenchmark(options: options, binary: try .pushRegistry(common.binary), log: log).run(&report)
        }
        if options.wants(.engine) {
            try await EngineBenchmark(options, buildsHummingbird: withHummingbird, log: log).run(&report)
        }
        return report
    }
}
