/// A type of PostgreSQL by its object identifier (`pg_type.oid`, which is fixed for built-in types). Swift types named
/// below are sent as that type and decoded from it.
public struct PostgresType: RawRepresentable, Hashable, Sendable {
    /// Types that a database defines itself, such as enums, have numbers from 16,384 on.
    public let rawValue: UInt32

    @inlinable
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// `boolean`: `Bool`.
    public static let bool = PostgresType(rawValue: 16)
    /// `bytea`: `[UInt8]`.
    public static let bytea = PostgresType(rawValue: 17)
    /// `"char"`, a single byte of the system catalogs: decoded as `String`.
    public static let char = PostgresType(rawValue: 18)
    /// `name`, an identifier in the system catalogs: decoded as `String`.
    public static let name = PostgresType(rawValue: 19)
    /// `bigint`: `Int64` and `Int`.
    public static let int8 = PostgresType(rawValue: 20)
    /// `smallint`: `Int16` and a single `UInt8`.
    public static let int2 = PostgresType(rawValue: 21)
    /// `integer`: `Int32`.
    public static let int4 = PostgresType(rawValue: 23)
    /// `text`: `String`.
    public static let text = PostgresType(rawValue: 25)
    /// `oid`, 32 bits without sign: decoded as `Int64`.
    public static let oid = PostgresType(rawValue: 26)
    /// `json`: decoded as `String`.
    public static let json = PostgresType(rawValue: 114)
    /// `real`: decoded as `Double`.
    public static let float4 = PostgresType(rawValue: 700)
    /// `double precision`: `Double`.
    public static let float8 = PostgresType(rawValue: 701)
    /// A literal without a type: decoded as `String`.
    public static let unknown = PostgresType(rawValue: 705)
    /// `character(n)`: decoded as `String`.
    public static let bpchar = PostgresType(rawValue: 1042)
    /// `character varying`: decoded as `String`.
    public static let varchar = PostgresType(rawValue: 1043)
    /// `timestamp without time zone`: decoded as `PostgresTimestamp` in UTC.
    public static let timestamp = PostgresType(rawValue: 1114)
    /// `timestamp with time zone`: `PostgresTimestamp`.
    public static let timestamptz = PostgresType(rawValue: 1184)
    /// `jsonb`: decoded as `String`.
    public static let jsonb = PostgresType(rawValue: 3802)

    /// `boolean[]`.
    public static let boolArray = PostgresType(rawValue: 1000)
    /// `bytea[]`: an array of `[UInt8]`.
    public static let byteaArray = PostgresType(rawValue: 1001)
    /// `smallint[]`.
    public static let int2Array = PostgresType(rawValue: 1005)
    /// `integer[]`.
    public static let int4Array = PostgresType(rawValue: 1007)
    /// `text[]`.
    public static let textArray = PostgresType(rawValue: 1009)
    /// `bigint[]`.
    public static let int8Array = PostgresType(rawValue: 1016)
    /// `double precision[]`.
    public static let float8Array = PostgresType(rawValue: 1022)
    /// `timestamp with time zone[]`.
    public static let timestamptzArray = PostgresType(rawValue: 1185)

    /// The first identifier of the types that a database defines itself: enums, domains, extensions
    /// (`FirstNormalObjectId`).
    static let firstOfDatabase: UInt32 = 16_384

    var isOfDatabase: Bool { rawValue >= Self.firstOfDatabase }
}
