import PostgresClient
import PushRegistry

/// The SQL of `push-registry distribute` and `apps move`, on a database with the extension Citus:
/// <https://docs.citusdata.com/en/stable/develop/api_udf.html>.
enum DistributionStatements {
    /// Every command, at start: checks for the extension Citus.
    static let isInstalled = PreparedSQL(
        "SELECT extversion FROM pg_extension WHERE extname = 'citus'")

    /// Every command, at start, with Citus: checks for distributed tables.
    static let isDistributed = PostgresStatement(
        "SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('installation'))"
    ).unprepared()

    /// distribute, migrate, serve, on Citus: lists the distributed tables.
    static let tables = PostgresStatement("SELECT logicalrelid::text FROM pg_dist_partition").unprepared()

    /// Returns the name and the port of each node that may have shards.
    static let nodes: PostgresStatement = """
        SELECT nodename, nodeport::integer FROM pg_dist_node
        WHERE noderole = 'primary' AND isactive AND shouldhaveshards ORDER BY 1, 2
        """

    /// Sessions of services: they were opened for a database without shards.
    static let sessions = PreparedSQL(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'push-registry%'
        """)

    /// Returns the name and the port of each node whose sessions compile statements that seem expensive (JIT).
    ///
    /// A session's `jit = off` does not reach the nodes. There the estimates of tables without statistics are so high
    /// that a node compiled a statement of `verify` for a second, and executed it in milliseconds.
    static let compilingNodes = PreparedSQL(
        """
        SELECT n.nodename, n.nodeport::integer
        FROM run_command_on_all_nodes('SHOW jit') AS r JOIN pg_dist_node n USING (nodeid)
        WHERE r.success AND r.result = 'on' ORDER BY 1, 2
        """)

    /// The coordinator passes the command on to every node. Returns whether it was executed, and the message.
    static let stopCompiling = PreparedSQL(
        """
        SELECT success, result
        FROM run_command_on_coordinator(format('ALTER DATABASE %I SET jit = off', current_database()))
        """)

    /// - Parameter other: a table whose shards lie on the same nodes; nil for the first table.
    static func distribute(_ table: String, shards: Int32, beside other: String?) -> PostgresStatement {
        guard let other else {
            return """
                SELECT create_distributed_table(\(table)::text::regclass, 'app_id', colocate_with => 'none',
                    shard_count => \(shards))
                """
        }
        return "SELECT create_distributed_table(\(table)::text::regclass, 'app_id', colocate_with => \(other))"
    }

    /// distribute: copies a table to every node.
    static func refer(_ table: String) -> PostgresStatement {
        PostgresStatement("SELECT create_reference_table(\(table)::text::regclass)").unprepared()
    }

    /// distribute: deletes the rows that were copied to shards.
    static func truncateLocal(_ table: String) -> PostgresStatement {
        PostgresStatement("SELECT truncate_local_data_after_distributing_table(\(table)::text::regclass)").unprepared()
    }

    /// Partitions are not returned, but the tables that have them.
    static let localCopies: PostgresStatement = """
        SELECT DISTINCT coalesce(pg_partition_root(logicalrelid), logicalrelid)::text FROM pg_dist_partition
        WHERE pg_relation_size(logicalrelid) > 0 ORDER BY 1
        """

    struct Node: Hashable, Sendable {
        let name: String
        let port: Int32

        var text: String { "\(name):\(port)" }
    }

    /// Returns the shard, its node, and whether it has the app alone.
    static func location(of app: AppNumber) -> PostgresStatement {
        """
        SELECT s.shardid, n.nodename, n.nodeport::integer, s.shardminvalue = s.shardmaxvalue
        FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
        WHERE s.shardid = get_shard_id_for_distribution_column('installation', \(app.rawValue))
            AND n.noderole = 'primary'
        """
    }

    /// Returns an array of apps for each shard that has some.
    static let appsByShard: PostgresStatement = """
        SELECT array_agg(id ORDER BY id) FROM app GROUP BY get_shard_id_for_distribution_column('installation', id)
        """

    /// apps move: gives an app a shard of its own.
    static func isolate(_ app: AppNumber) -> PostgresStatement {
        """
        SELECT isolate_tenant_to_new_shard('installation', \(app.rawValue), 'CASCADE',
            shard_transfer_mode => 'block_writes')
        """
    }

    /// The app's shards of the other tables move with it. Writes of the app wait only at the end of the move.
    static func move(shard: Int64, from old: Node, to new: Node) -> PostgresStatement {
        """
        SELECT citus_move_shard_placement(\(shard), \(old.name), \(old.port), \(new.name), \(new.port),
            shard_transfer_mode => 'force_logical')
        """
    }
}
