import Foundation
import PushRegistry
import Testing

@testable import Importing

@Suite("Rows of other systems are found in files of any shape, wherever the input is split")
struct ForeignRowsTests {
    /// The value of a member or column `a` of each row, with its line; a fault is its code.
    private func read(_ text: String, pieceBytes: Int = 7) throws -> [String] {
        let bytes = PeekableBytes(TextBytes(Array(text.utf8), pieceBytes: pieceBytes))
        guard var rows = try ForeignRows(bytes, ElementSplitter(wrappers: ["items"])) else { return ["empty"] }
        var found: [String] = []
        while let (line, row) = try rows.next() {
            switch row {
            case .success(let row): found.append("\(line): \(row.text("a") ?? "nil")")
            case .failure(let faults): found.append("\(line): ! \(faults.faults[0].reason.code)")
            }
        }
        return found + (rows.endsEarly ? ["cut off"] : [])
    }

    @Test(arguments: [
        ("", ["empty"]),
        ("{\"a\":1}\n\n{\"a\":\"x\"}\n", ["1: 1", "3: x"]),
        ("{\"a\":1}\nnonsense\n{\"a\":2}", ["1: 1", "2: ! malformed-json", "3: 2"]),
        ("{\"a\":1}\n{\"a\":2", ["1: 1", "cut off"]),
        ("[{\"a\":\"]}\\\"\"},\n {\"a\":{\"$date\":{\"$numberLong\":\"5\"}}}\n]", ["1: ]}\"", "2: 5"]),
        ("[{\"a\":1},{\"a\"", ["1: 1", "cut off"]),
        ("{\n\"ok\": true, \"items\": [\n{\"a\":1},\n{\"a\":[2,3]}\n], \"next\": \"]}\"}\n", ["3: 1", "4: 2"]),
        ("{\"items\":[{\"a\":1}]}\n{\"items\":[{\"a\":2}]}\n", ["1: 1", "2: 2"]),
        ("{\"items\":[{\"a\":1}]", ["1: 1", "cut off"]),
        ("{\"a\":1,\"items\":[\"b\"]}\n", ["1: 1"]),
        ("{\"items\":[]}\n", []), ("{\n\"items\": [\n]\n}\n{\"items\":[{\"a\":1}]}", ["5: 1"]),
        ("[{\"items\":[{\"a\":1}],\"next\":2},\n{\"items\":[{\"a\":2}]}]", ["1: 1", "2: 2"]),
        ("{\"items\":[{\"a\":1,\"items\":[{\"a\":5}]}]}", ["1: 1"]),
        ("{\n\"a\": 1\n}\n{\n\"a\": 2\n}\n", ["1: 1", "4: 2"]),
        ("b,A,a\n1,,3\n1,2\n", ["2: 3", "3: ! wrong-columns"]),
        ("<R><a>1</a></R>\n<R><a><![CDATA[2\n3]]></a></R>\n<R>\n", ["1: 1", "2: 2\n3", "4: ! malformed-xml"]),
        ("<?xml version=\"1.0\"?>\n<R><a>1</a></R>\n<R><a>2</a", ["2: 1", "cut off"]),
        ("a,b\n1,2\n3", ["2: 1", "cut off"]), ("a,b\n1,2\n3,\"4", ["2: 1", "cut off"]),
        ("a,b\n1,2\n3,", ["2: 1", "3: 3"]),
        (
            "[{\"a\":1},\"x]{\",{\"a\":2},7,[{\"a\":3}],null,{\"a\":4}]",
            ["1: 1", "1: ! wrong-type", "1: 2", "1: ! wrong-type", "1: ! wrong-type", "1: ! wrong-type", "1: 4"]
        ),
        ("{\"items\":[{\"a\":1},true\n,{\"a\":2}],\"b\":3}", ["1: 1", "1: ! wrong-type", "2: 2"]),
        ("[{\"a\":1},\"x", ["1: 1", "cut off"]),
        ("[{\"a\":1},?,{\"a\":2}\n,{\"a\":3}]", ["1: 1", "1: ! malformed-json", "1: 2", "2: 3"]),
        ("<!DOCTYPE x><R><a>1</a></R>\n", ["1: ! document-type"]),
    ])
    func rows_areFound(text: String, expected: [String]) throws {
        for pieceBytes in [1, 7, 10_000] {
            #expect(try read(text, pieceBytes: pieceBytes) == expected, "\(text)")
        }
    }

    /// A file of one line is all header: its names are data.
    @Test func table_isRefused_whenItsLinesEndWithACarriageReturnAlone() throws {
        let text = "installId,token\ra1,secret-1\ra2,secret-2\r"
        let failure = #expect(throws: ImportFailure.self) { try read(text) }
        #expect(
            failure?.description.contains("carriage return") == true && failure?.description.contains("secret") == false
        )
        #expect(throws: ImportFailure.self) {
            try CSVColumns(header: ["id", "token\ra1", "secret-1\ra2"], ImportNames(map: ["id": .installID]))
        }
        #expect(try read("\"b\r\n\",a\r\n1,2\r\n") == ["3: 2"])
    }

    @Test func unknownNames_areNotPrinted_whenTheyMayBeSecrets() {
        var names = ImportNames()
        for name in ["shoe size", String(repeating: "f0", count: 32), "bob@example.com", "+491701234567", "a\rb"] {
            names.noteUnknown(name)
        }
        #expect(names.unknown == ["shoe size", "(others)"])
    }

    @Test(arguments: [
        ("2026-11-21T02:03:04Z", "2026-11-21T02:03:04Z"), ("2026-11-21T02:03:04+01:00", "2026-11-21T01:03:04Z"),
        ("2026-11-21 02:03:04", "2026-11-21T02:03:04Z"), ("2026-11-21T02:03:04", "2026-11-21T02:03:04Z"),
        ("2020-07-10 15:00:00.000 UTC", "2020-07-10T15:00:00Z"), ("2026-11-21", "2026-11-21T00:00:00Z"),
        ("1795000000", "2026-11-18T11:06:40Z"), ("1795000000000", "2026-11-18T11:06:40Z"),
        ("1795000000.5", "2026-11-18T11:06:40.500Z"), ("2019-08-23T10:54:35.220Z", "2019-08-23T10:54:35.220Z"),
        ("2026-11-21T02:03:04.5+0130", "2026-11-21T00:33:04.500Z"), ("2026-11-21T02:03:04-05", "2026-11-21T07:03:04Z"),
        ("2026-11-21 02:03:04.678+00", "2026-11-21T02:03:04.678Z"),
        ("-9223372036854775808", nil), ("9223372036854775807", nil), ("-1e400", nil), ("1e18", nil), ("nan", nil),
        ("2026-11-21 02:03:04 +0000", "2026-11-21T02:03:04Z"),
        ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999999Z"), ("yesterday", nil), ("", nil),
    ])
    func times_areReadInAllForms(text: String, expected: String?) {
        #expect(ForeignTime.parse(text)?.description == expected, "\(text)")
    }

    private static let p256dh =
        "BHcp1BHOPrgz+YctuFGVOLVZ5fVoInAJw9KLfWdfAe4gLW/kkr1u8U5i40wlzyRwOvDgEBuTsEMt8hmcNFgNAd4="
    private static let auth = "3KAojAmlwNjD+A1X/Y53pA=="

    /// As OneSignal's SDK writes the keys of a subscription.
    @Test(
        arguments: [
            ("onesignal", "identifier,device_type,web_p256,web_auth\nhttps://a.example/1,5,\(p256dh),\(auth)\n"),
            (
                "airship",
                """
                {"channel_id":"a","device_type":"web","address":"https://a.example/1","opt_in":true,\
                "web":{"subscription":{"p256dh":"\(p256dh)","auth":"\(auth)"}}}
                """
            ),
            (
                "azure",
                """
                <BrowserRegistrationDescription><RegistrationId>1</RegistrationId><Endpoint>https://a.example/1\
                </Endpoint><P256DH>\(p256dh)</P256DH><Auth>\(auth)</Auth></BrowserRegistrationDescription>
                """
            ),
        ])
    func webPushKeys_areTakenInStandardBase64(system: String, text: String) throws {
        let installation = try #require(try imported(text, system))
        #expect(installation.keys?.auth == "3KAojAmlwNjD-A1X_Y53pA")
        #expect(installation.keys?.p256dh.hasPrefix("BHcp1BHOPrgz-Y") == true)
    }

    @Test(arguments: [
        (#""platform":"apns","pushChannel":"0123456789ABCDEF""#, "apnsSandbox 0123456789abcdef"),
        (#""platform":"fcmV1","pushChannel":"t""#, "fcm t"), (#""platform":"wns","pushChannel":"https://a""#, "wns"),
        (#""platform":"gcm","pushChannel":"t","expirationTime":"2020-01-01T00:00:00Z""#, "expired"),
        (#""platform":"gcm","pushChannel":"t","pushChannelExpired":true"#, "expired"),
        (
            #""platform":"browser","pushChannel":"{\"endpoint\":\"https://a.example/1\","#
                + #"\"p256dh\":\"x\",\"auth\":\"y\"}""#,
            "webPush https://a.example/1"
        ),
    ])
    func installationOfAzure_isReadAsARegistration(members: String, expected: String) throws {
        let text = #"{"installationId":"i1","userId":"alice","tags":["News"],"templates":{},\#(members)}"# + "\n"
        let (reader, row) = try #require(try read(text, of: "azure", environment: .apnsSandbox))
        #expect(reader.format.tags?(row).map(\.name) == ["News"])
        switch try reader.outcome(of: row) {
        case .installation(let identity):
            var unread: [(field: ImportField, value: String)] = []
            #expect(reader.record(row, identity, unread: &unread)[.userID] == "alice" && unread.isEmpty)
            #expect(identity.installID.rawValue == "i1")
            #expect("\(identity.token.provider.rawValue) \(identity.token.text)" == expected)
        case .skipped(let kind): #expect(kind.rawValue == expected)
        case .needsEnvironment: Issue.record("an environment was given")
        }
    }

    /// Tools write numbers with a fraction, and flags in many words.
    @Test(
        arguments: [
            ("onesignal", "notification_types", "-2.0", true), ("onesignal", "notification_types", "1.0", false),
            ("onesignal", "notification_types", "off", true), ("airship", "opt_in", "0", true),
            ("airship", "opt_in", "maybe", true), ("airship", "opt_in", "TRUE", false),
            ("pinpoint", "OptOut", "YES", true), ("pinpoint", "OptOut", "NONE", false),
        ])
    func userOptedOut_unlessTheWordIsKnownToMeanOtherwise(
        system: String, name: String, word: String, isOptedOut: Bool
    ) throws {
        let rows = [
            "onesignal": "identifier,device_type,\(name)\nt,1,\(word)\n",
            "airship": "channel_id,device_type,push_address,\(name)\na,android,t,\(word)\n",
            "pinpoint": "ChannelType,Address,\(name)\nGCM,t,\(word)\n",
        ]
        let (reader, row) = try #require(try read(rows[system] ?? "", of: system))
        guard case .installation(let identity) = try reader.outcome(of: row) else {
            Issue.record("the row is skipped")
            return
        }
        #expect(identity.isOptedOut == isOptedOut)
    }

    private func read(
        _ text: String, of system: String, environment: Provider? = nil
    ) throws -> (ForeignReader, ForeignRow)? {
        let format = try #require(ForeignFormat.all.first { $0.name == system })
        let reader = ForeignReader(
            format: format, options: ForeignOptions(environment: environment),
            zones: ForeignTimeZones(links: TimeZoneLinks(zones: "", table: "")))
        var rows = try ForeignRows(PeekableBytes(TextBytes(text)), format.elements)
        guard case .success(let row) = try rows?.next()?.row else { return nil }
        return format.expand(row).first.map { (reader, $0) }
    }

    private func imported(_ text: String, _ system: String) throws -> ImportedInstallation? {
        guard let (reader, row) = try read(text, of: system),
            case .installation(let identity) = try reader.outcome(of: row)
        else { return nil }
        var importer = ImportReader(links: reader.zones.links)
        var unread: [(field: ImportField, value: String)] = []
        return try importer.installation(reader.record(row, identity, unread: &unread))
    }

    @Test func newestRow_isChosen_inBoundedMemory() throws {
        var rows: [ScannedRow] = []
        for number in 0..<2_000 {
            let identity = ForeignIdentity(
                token: try Token("token-\(number % 700)", of: .fcm), installID: try InstallID("id-\(number % 900)"),
                createdAt: nil, seenAt: Timestamp(microseconds: Int64(number * 7_919 % 1_013)), isOptedOut: false)
            rows.append(ScannedRow(identity, number: Int64(number), supplement: nil, now: .now()))
        }
        var sorter = RowSorter<ScannedRow>(rowsMax: 64) { ($0.token, $0.number) < ($1.token, $1.number) }
        for row in rows { try sorter.add(row) }
        var (sorted, found) = (try sorter.sorted(), [ScannedRow]())
        while let row = try sorted.next() { found.append(row) }
        #expect(found == rows.sorted { ($0.token, $0.number) < ($1.token, $1.number) })
    }
}
