import Testing

@testable import PostgresClient

@Suite("Errors of the server are told apart in every language")
struct ErrorKindTests {
    @Test func changedResultType_isAStalePlan_whateverTheMessage() {
        var fields = PostgresError.ServerFields()
        fields.sqlState = "0A000"
        fields.message = "gecachter Plan darf den Ergebnistyp nicht ändern"
        #expect(PostgresError(fields).kind == .other)
        fields.function = "RevalidateCachedQuery"
        #expect(PostgresError(fields).kind == .stalePlan)
    }
}
