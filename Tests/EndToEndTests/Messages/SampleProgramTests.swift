import Foundation
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The programs of the pages do what the pages say")
    struct SampleProgramTests {
        /// Accepts all but one token, is busy at the second push, and kills the sender at the push `CRASH_AT`.
        private static let provider = """
            import os
            pushes = 0
            def push(row, payload, campaign):
                global pushes
                pushes += 1
                if str(pushes) == os.environ.get("CRASH_AT"):
                    os._exit(9)
                with open("pushed", "a") as file:
                    file.write(row["installId"] + " ")
                if pushes == 2:
                    return "later"
                return ("Unregistered", None) if row["installId"] == "phone3" else None
            """

        @Test func sender_countsEachPhoneOnce_whenItCrashesAndContinues() async throws {
            let app = try await RegistryApp.make()
            for number in 1...5 { _ = try await app.put("phone\(number)") }
            let folder = try SampleFolder()
            try folder.write("provider.py", Self.provider)
            let sender = try #require(SampleFolder.blocks("python", of: "ForSenders").first)
            try folder.write(
                "send.py",
                sender.replacing(#""limit": 1000"#, with: #""limit": 2"#).replacing(#"{"locale": "de"}"#, with: "{}"))
            let environment = [
                "PUSH_API": "http://127.0.0.1:\(app.registry.client.port)\(app.path)", "PUSH_KEY": app.key(.sender),
            ]
            let crash = environment.merging(["CRASH_AT": "5"]) { $1 }
            #expect(try await folder.run(["python3", "send.py"], crash).status == 9)
            let end = try await folder.run(["python3", "send.py"], environment)
            #expect(end.status == 0, "\(end.output)")
            // The crash lost the answers of the second page only, so it alone is pushed again.
            #expect(try folder.read("pushed") == "phone1 phone2 phone2 phone3 phone3 phone4 phone4 phone5 ")
            let counts = try await app.send("GET", "/messages/spring-sale", by: .role(.sender)).json
            #expect(["targeted", "accepted", "failed"].map { counts[$0] } == [5, 4, 1])
            #expect(try await app.get("phone3").json["state"] == "suspect")
            // A third run finds nothing left to do.
            #expect(try await folder.run(["python3", "send.py"], environment).output.isEmpty)
        }

        /// Records each push, and answers that the token of `phone3` is dead. Paths begin with the host of the push.
        private static let fakeAPNs = """
            import http.server, json, os, time
            class APNs(http.server.BaseHTTPRequestHandler):
                def do_POST(self):
                    host, token = self.path.strip("/").split("/3/device/")
                    body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                    fields = {name: self.headers[name] for name in ("apns-topic", "apns-push-type", "authorization")}
                    with open("pushes", "a") as file:
                        file.write(json.dumps({"host": host, "token": token, "aps": body["aps"]} | fields) + "\\n")
                    isDead = token.startswith("03")
                    answer = {"reason": "Unregistered", "timestamp": time.time_ns() // 1_000_000} if isDead else {}
                    self.send_response(410 if isDead else 200)
                    self.end_headers()
                    self.wfile.write(json.dumps(answer).encode())
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), APNs)
            open("port.new", "w").write(str(server.server_port))
            os.rename("port.new", "port")
            server.serve_forever()
            """

        /// What activity.py takes of provider.py: a client of HTTP that sends all to the fake.
        private static let providerOfActivities = """
            import json as coder, urllib.error, urllib.request
            APNS_TOPIC = "com.example.mail"
            def apns_token(_half_hour):
                return "jwt"
            class Response:
                def __init__(self, status_code, text):
                    self.status_code, self.text = status_code, text
                def json(self):
                    return coder.loads(self.text)
            class http:
                def post(url, headers, json):
                    url = f"http://127.0.0.1:{open('port').read()}/{url.removeprefix('https://')}"
                    try:
                        request = urllib.request.Request(url, coder.dumps(json).encode(), headers)
                        with urllib.request.urlopen(request, timeout=30) as response:
                            return Response(response.status, response.read())
                    except urllib.error.HTTPError as error:
                        return Response(error.code, error.read())
            """

        @Test func senderOfActivities_startsUpdatesAndEndsOne_andReportsADeadToken() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.send("PUT", "/topics/match-42", ["name": "Match", "default": "out"], by: .role(.admin))
            for number in 1...4 {
                var body = SampleRegistration.make("phone\(number)")
                body["topics"] = ["match-42": .boolean(number < 4)]
                body["tokens"] = [
                    [
                        "kind": "liveActivityStart", "token": .string(Self.token(number)),
                        "environment": number == 2 ? "sandbox" : "production",
                    ]
                ]
                #expect(try await app.put("phone\(number)", body).status == 201)
            }
            let folder = try SampleFolder()
            let sender = try #require(SampleFolder.blocks("python", of: "LiveActivities").first)
            #expect(sender.split(separator: "\n", omittingEmptySubsequences: false).count <= 80)
            try folder.write("activity.py", sender)
            try folder.write("provider.py", Self.providerOfActivities)
            try folder.write("apns.py", Self.fakeAPNs)
            try folder.write("pushes", "")
            let environment = [
                "PUSH_API": "http://127.0.0.1:\(app.registry.client.port)\(app.path)", "PUSH_KEY": app.key(.sender),
            ]
            func send(_ event: String, _ home: Int) async throws -> (output: String, pushes: [JSON]) {
                try folder.write("pushes", "")
                let run = try await folder.run(
                    ["python3", "activity.py", event, "match-42", #"{"home": \#(home)}"#], environment)
                #expect(run.status == 0, "\(run.output)")
                let pushes = try folder.read("pushes").split(separator: "\n").map { try JSON(parsing: $0.utf8) }
                return (run.output, pushes.sorted { $0["token"].string ?? "" < $1["token"].string ?? "" })
            }
            try await folder.running(["python3", "apns.py"], [:]) {
                try await eventually("the fake listens") { (try? folder.read("port")) != nil }
                let start = try await send("start", 0)
                #expect(start.pushes.map { $0["token"].string } == (1...3).map { Self.token($0) })
                let hosts = ["api.push.apple.com", "api.sandbox.push.apple.com", "api.push.apple.com"]
                #expect(start.pushes.map { $0["host"].string } == hosts)
                let first = try #require(start.pushes.first)
                #expect(first["apns-topic"] == "com.example.mail.push-type.liveactivity")
                #expect(first["apns-push-type"] == "liveactivity" && first["authorization"] == "bearer jwt")
                #expect(first["aps"]["event"] == "start" && first["aps"]["attributes"] == ["match": "match-42"])
                #expect(start.output.contains("'unregistered': 1"), "\(start.output)")
                // Only this token is gone.
                #expect(try await app.get("phone3").json["reachable"] == true)
                let count = try await app.send(
                    "POST", "/audience/count", ["filter": [:], "kind": "liveActivityStart"], by: .role(.sender))
                #expect(count.json["count"] == 3, "\(count.text)")

                #expect(try await send("update", 1).pushes.isEmpty)
                for number in 1...2 {
                    let path = "/installations/phone\(number)/tokens/liveActivity/match-42"
                    let put = try await app.send("PUT", path, ["token": .string(Self.token(10 + number))])
                    #expect(put.status == 200, "\(put.text)")
                }
                for (event, home) in [("update", 1), ("end", 2)] as [(String, Int64)] {
                    let pushes = try await send(event, Int(home)).pushes
                    #expect(pushes.map { $0["token"].string } == [11, 12].map { Self.token($0) })
                    #expect(pushes.allSatisfy { $0["aps"]["content-state"]["home"].integer == home })
                    #expect(pushes.allSatisfy { ($0["aps"]["dismissal-date"] == .null) == (event == "update") })
                }
            }
        }

        private static func token(_ number: Int) -> String {
            String(repeating: (number < 10 ? "0" : "") + "\(number)", count: 32)
        }

        @Test func readerOfTheFeed_hasTheSameInstallations_andStartsOverAtItsEnd() async throws {
            let app = try await RegistryApp.make()
            for name in ["kept", "left"] { _ = try await app.put(name, as: "alice") }
            let folder = try SampleFolder()
            let reader = try #require(SampleFolder.blocks("python", of: "ChangeFeed").first)
            try folder.write("reader.py", reader)
            let environment = [
                "PUSH_API": "http://127.0.0.1:\(app.registry.client.port)\(app.path)", "PUSH_KEY": app.key(.service),
                "POLL_SECONDS": "0.02",
            ]
            try await folder.running(["python3", "reader.py"], environment) {
                try await folder.eventuallyHas("kept|alice|active\nleft|alice|active\n")
                _ = try await app.delete("left")
                let logout = try await app.send(
                    "POST", "/installations/kept/logout", [:], fields: [("X-User-Id", "alice")])
                #expect(logout.json["status"] == "loggedOut")
                try await folder.eventuallyHas("kept||loggedOut\n")
                _ = try folder.query("INSERT INTO installation VALUES ('stray', NULL, 'active')")
                // As after a restored dump: the cursor is of another epoch.
                _ = try folder.query("UPDATE position SET cursor = '0000000000000000' || substr(cursor, 17)")
                try await folder.eventuallyHas("kept||loggedOut\n")
            }
        }
    }
}

/// A folder in which a sample runs; deleted with the value.
private final class SampleFolder: Sendable {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "push-registry-sample-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// A page's blocks of code in this language.
    static func blocks(_ language: String, of page: String) throws -> [String] {
        try documentationPage(page).components(separatedBy: "```\(language)\n").dropFirst()
            .map { $0.components(separatedBy: "```\n")[0] }
    }

    func write(_ name: String, _ text: String) throws {
        try text.write(to: url.appending(path: name), atomically: true, encoding: .utf8)
    }

    func read(_ name: String) throws -> String {
        try String(contentsOf: url.appending(path: name), encoding: .utf8)
    }

    func run(_ command: [String], _ environment: [String: String]) async throws -> (status: Int32, output: String) {
        let output = "output-\(UUID().uuidString)"
        let process = try start(command, environment, output)
        try await eventually("the program ends") { !process.isRunning }
        return (process.terminationStatus, try read(output))
    }

    /// Kills the program after `body`.
    func running(_ command: [String], _ environment: [String: String], _ body: () async throws -> Void) async throws {
        let process = try start(command, environment, "output")
        // Not SIGTERM: a child inherits from this process that it is ignored.
        defer { kill(process.processIdentifier, SIGKILL) }
        do {
            try await body()
        } catch {
            Issue.record("\(try read("output"))")
            throw error
        }
    }

    private func start(_ command: [String], _ environment: [String: String], _ output: String) throws -> Process {
        try write(output, "")
        let handle = try FileHandle(forWritingTo: url.appending(path: output))
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = url
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        return process
    }

    /// The rows of the reader's table, as lines of `id|user|state`.
    func eventuallyHas(_ rows: String) async throws {
        try await eventually("the reader has \(rows)") {
            try query("SELECT id, user, state FROM installation ORDER BY id") == rows
        }
    }

    /// Runs SQL in the reader's database, as another process beside it.
    func query(_ sql: String) throws -> String {
        let program = """
            import sqlite3, sys
            db = sqlite3.connect("installations.db", timeout=30, isolation_level=None)
            for row in db.execute(sys.argv[1]): print("|".join("" if x is None else x for x in row))
            """
        let output = "query-\(UUID().uuidString)"
        let process = try start(["python3", "-c", program, sql], [:], output)
        process.waitUntilExit()
        return try read(output)
    }
}
