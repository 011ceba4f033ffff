import ArgumentParser

@main
struct PushRegistryBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-registry-bench",
        abstract: "Measures push-registry against bare PostgreSQL, and fills databases with realistic installations.",
        subcommands: [
            AllCommand.self, RunCommand.self, AgainstCommand.self, FillCommand.self, AudiencesCommand.self,
            ImportBenchmarkCommand.self, ExportCommand.self, CleanUpBenchmarkCommand.self, NeighboursCommand.self,
            MessagesBenchmarkCommand.self, EngineServerCommand.self,
        ],
        defaultSubcommand: AllCommand.self)
}
