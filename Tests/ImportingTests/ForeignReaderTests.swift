import Foundation
import PushRegistry
import Testing

@testable import Importing

@Suite("A row of another system is what its values say, and nothing that nobody understands")
struct ForeignReaderTests {
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
        (#""platform":"gcm","pushChannel":"t","pushChannelExpired":false"#, "fcm t"),
        (#""platform":"gcm","pushChannel":"t","expirationTime":"never""#, "expired"),
        (#""platform":"gcm","pushChannel":"t","expirationTime":"9999-12-31T23:59:59.9999999Z""#, "fcm t"),
        (#""platform":"gcm","pushChannel":"(null)""#, "noToken"),
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
        _ text: String, of system: String, environment: Provider? = nil, user: String? = nil
    ) throws -> (ForeignReader, ForeignRow)? {
        let format = try #require(ForeignFormat.all.first { $0.name == system })
        let reader = ForeignReader(
            format: format, options: ForeignOptions(environment: environment, user: user.map { FieldPath($0) }),
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

    /// A row may lack a date, and its other values are good.
    @Test(arguments: ["-9223372036854775808", "9223372036854775807", "1e400", "nan", "0000-00-00", "0", "soon"])
    func date_isAbsentAndCounted_whenNobodyCanReadIt(date: String) throws {
        let text = #"{"deviceType":"android","deviceToken":"t","_updated_at":{"$date":{"$numberLong":"\#(date)"}}}"#
        let (reader, row) = try #require(try read(text, of: "parse"))
        guard case .installation(let identity) = try reader.outcome(of: row) else {
            Issue.record("the row is skipped")
            return
        }
        var unread: [(field: ImportField, value: String)] = []
        let record = reader.record(row, identity, unread: &unread)
        #expect(identity.seenAt == nil && record[.lastSeenAt] == nil)
        #expect(unread.map(\.field) == [.lastSeenAt] && unread.map(\.value) == [date])
    }

    /// A file of some system may have its date and its location in another form.
    @Test func readableValue_isTaken_inItsForm() throws {
        let text = "identifier,device_type,last_active,location,language\nt,1,46346.5,\"(52.5,13.4)\",iw\n"
        let installation = try #require(try imported(text, "onesignal"))
        #expect(installation.lastSeenAt?.description == "2026-11-20T12:00:00Z")
        #expect(installation.snapshot.device.location == Location(latitude: 52.5, longitude: 13.4))
        #expect(installation.snapshot.device.locale.text == "he")
    }

    @Test func userOfSNS_isAMemberOfTheJSON_orRejected() throws {
        func user(_ path: String) throws -> String? {
            let arn = "arn:aws:sns:us-east-1:1:endpoint/GCM/App/id"
            let data = #"{\"userId\":\"42\"}"#
            let text =
                #"{"EndpointArn":"\#(arn)","Attributes":{"Token":"t","Enabled":"true","CustomUserData":"\#(data)"}}"#
            let (reader, row) = try #require(try read(text, of: "sns", user: path))
            guard case .installation(let identity) = try reader.outcome(of: row) else { return nil }
            var unread: [(field: ImportField, value: String)] = []
            return reader.record(row, identity, unread: &unread)[.userID]
        }
        #expect(try user("CustomUserData.userId") == "42")
        #expect(throws: ImportFaults.self) { try user("CustomUserData") }
    }

    @Test func topics_areNamedByFrequency_whenAnAppCannotHaveThemAll() throws {
        var found = FoundTopics()
        for number in 0..<3_000 {
            found.add([ForeignTag(name: "user-\(number * 1_000_003)"), ForeignTag(name: "News")])
            if number % 2 == 0 { found.add([ForeignTag(name: "offers")]) }
        }
        let failure = #expect(throws: ImportPlan.MissingOption.self) {
            try ImportTopics(found, over: TopicCatalogue())
        }
        #expect(failure?.description.contains("The most frequent: news 3000, offers 1500, user-0 1.") == true)
        #expect(failure?.description.contains("0003") == false)
    }

    @Test func page_namesEveryKindOfSkippedRows() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "Sources/Command/push-registry/Documentation.docc/Import.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        #expect(SkippedKind.allCases.filter { !page.contains("`\($0.rawValue)`") } == [])
    }
}
