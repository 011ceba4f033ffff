import Basics
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A browser downloads an export as the response to a form")
    struct ConsoleExportTests {
        private func form(_ app: RegistryApp, _ text: String, prefix: String = "/console") -> HTTPRequest {
            let type = [("Content-Type", "application/x-www-form-urlencoded")]
            return HTTPRequest(
                "POST", "\(prefix)/v1/apps/\(app.id)/audience/export", fields: ConsoleVisitor.ownPage + type,
                body: Array(text.utf8))
        }

        private func encoded(_ json: JSON) -> String {
            json.text.utf8.map { byte in byte == 0x20 ? "+" : "%" + String(hex: byte) }.joined()
        }

        @Test func form_isAnsweredWithAnAttachment_thatEqualsTheExport() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b", "c"] { _ = try await app.put(name) }
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            let body: JSON = ["filter": ["locale": "de"], "format": "csv", "fields": ["id", "locale", "carrier"]]
            let response = try await visitor.send(form(app, "unused=1&body=\(encoded(body))"))
            #expect(response.status == 200, "\(response.text)")
            #expect(response["Content-Type"] == "text/csv; charset=utf-8")
            #expect(response["Content-Disposition"] == "attachment; filename=\"\(app.id)-audience.csv\"")
            let direct = try await app.send("POST", "/audience/export", body, by: .role(.marketing))
            #expect(response.text == direct.text && response.text.contains("de_DE"))
            let asJSON = try await visitor.send("POST", "/console/v1/apps/\(app.id)/audience/export", body)
            #expect(asJSON.text == direct.text)
        }

        @Test func otherForms_areRefused() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            for text in ["", "body", "body=", "other=%7B%7D", "body=%7B", "body=%zz", "body=%00", "body=3"] {
                #expect(try await visitor.send(form(app, text)).status == 400, "\(text)")
            }
            let token = encoded(["filter": [:], "fields": ["token"]])
            #expect(try await visitor.send(form(app, "body=\(token)")).status == 403)
            var foreign = form(app, "body=" + encoded(["filter": [:]]))
            foreign.fields[0].value = "cross-site"
            #expect(try await visitor.send(foreign).status == 403)
            let stranger = ConsoleVisitor(registry: app.registry)
            #expect(try await stranger.send(form(app, "body=" + encoded(["filter": [:]]))).status == 401)
        }

        @Test func form_isRefused_byTheAPI_andByOtherCalls() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            var request = form(app, "body=" + encoded(["filter": [:]]), prefix: "")
            request.fields.append(("Authorization", "Bearer \(app.key(.marketing))"))
            #expect(try await visitor.send(request).status == 415)
            request = form(app, "body=" + encoded(["filter": [:]]))
            request.path = "/console/v1/apps/\(app.id)/audience/count"
            #expect(try await visitor.send(request).status == 415)
        }
    }
}
