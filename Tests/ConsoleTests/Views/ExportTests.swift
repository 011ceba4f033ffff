import Foundation
import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The audience as a file that the browser downloads.
    @Suite("Export")
    struct ExportTests {
        @Test(arguments: [("en-US", ","), ("de-DE", ";")])
        func csv_isDownloaded_forSpreadsheetsOfTheLanguage_withoutFormulas(
            language: String, separator: String
        ) async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            var device = SampleRegistration.device("spread")
            device["carrier"] = "=1+1"
            _ = try await app.put("spread", SampleRegistration.make("spread", device: device))
            _ = try await app.put("plain")
            try await Console.shared.visit(
                page: "export", of: app, as: .marketing, look: Browser.Look(language: language)
            ) { browser in
                #expect(try await browser.run("return document.querySelectorAll('[value=token]').length") == 0)
                try await browser.run("document.querySelector('[value=carrier]').click()")
                try await browser.expectNoViolations("export")
                try await browser.withDownloads { folder in
                    try await browser.run("document.querySelector('form .primary').click()")
                    let text = try await Browser.download(in: folder)
                    let lines = text.components(separatedBy: "\r\n")
                    #expect(lines.count == 4 && lines[0].hasPrefix("\u{FEFF}id\(separator)system"), "\(text)")
                    #expect(text.contains("\(separator)'=1+1"), "\(text)")
                }
                // The page stays where it is.
                #expect(try await browser.run("return location.hash") == "#/export")
            }
        }

        @Test func message_givesEachRowAReceipt_andMustExist() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            _ = try await app.put("phone")
            let saved = try await app.send("PUT", "/messages/spring", ["title": "Spring"], by: .role(.sender))
            #expect(saved.status == 201, "\(saved.text)")
            try await Console.shared.visit(page: "export", of: app, as: .sender, expecting: ["404"]) { browser in
                try await browser.wait(for: "document.querySelector('datalist option[value=spring]')")
                try await browser.fill("Message", "none-such")
                try await browser.click("Download 1 row")
                try await browser.wait(forText: "There is no message of this name.")
                try await browser.expectNoViolations("an unknown message")
                try await browser.withDownloads { folder in
                    try await browser.fill("Message", "spring")
                    try await browser.click("Download 1 row")
                    let lines = try await Browser.download(in: folder).components(separatedBy: "\r\n")
                    #expect(lines.count == 3 && lines[0].contains("receipt"), "\(lines[0])")
                }
            }
        }

        @Test func emptyAudience_hasNothingToDownload() async throws {
            try await Console.shared.visit("export", of: Console.shared.empty) { browser, _ in
                try await browser.wait(forText: "Download 0 rows")
                #expect(try await browser.run("return document.querySelector('form .primary').disabled") == true)
                try await browser.expectNoViolations("an empty export")
            }
        }
    }
}
