import Foundation
import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The rules behind the pictures, without a screen.
    @Suite("Rules behind the screens")
    struct ViewModelTests {
        @Test func waves_nameZonesWhoseClocksChange_first() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {schedule} = await module('screens/waves.js');
                const wave = (at, count, timeZones, ...clockChanges) => ({at, count, timeZones, clockChanges});
                const {waves, past, skipped, repeated} = schedule({total: 10, withoutTimeZone: 2, waves: [
                  wave('2027-03-27T17:30:00Z', 2, ['Asia/Tokyo', null]),
                  wave('2027-03-28T01:30:00Z', 6, ['Africa/Lagos', 'Europe/Berlin'],
                    {timeZone: 'Europe/Berlin', change: 'skipped', localTime: '03:30'}),
                ]}, Date.parse('2027-03-27T18:00:00Z'));
                const names = (zones) => zones.map((zone) => zone.name);
                return [waves.map((wave) => [wave.share, wave.isPast, ...names(wave.zones)]), past, names(skipped),
                  repeated];
                """)
            #expect(
                found == [
                    [[0.25, true, "Asia/Tokyo", .null], [0.75, false, "Europe/Berlin", "Africa/Lagos"]], 2,
                    ["Europe/Berlin"], [],
                ])
        }

        @Test(.enabled(if: FileManager.default.fileExists(atPath: zoneTable)))
        func citiesOfTimeZones_areWhereTheyAre() async throws {
            let cities = try String(contentsOfFile: Self.zoneTable, encoding: .utf8).split(separator: "\n")
                .compactMap { $0.wholeMatch(of: /[A-Z]{2}\t([+-]\d\d)\d+([+-]\d{3})\d+\t([^\t]+).*/)?.output }
            let names = cities.map { JSON.string(String($0.3)) }
            let found = try await Console.shared.evaluate(
                """
                const {placeOf} = await module('screens/world/zones.js');
                return [...arguments[0], 'Etc/GMT+5', 'UTC', 'Mars/Olympus', null].map((name) => placeOf(name) ?? null);
                """, .array(names)
            ).array
            try #require(cities.count > 400 && found.count == cities.count + 4)
            #expect(found.suffix(4) == [.null, .null, .null, .null])
            for (city, place) in zip(cities, found) {
                try #require(place != .null, "\(city.3)")
                let (latitude, longitude) = (Double(city.1) ?? 0, Double(city.2) ?? 0)
                let (x, y) = (place.array[0].integer ?? 0, place.array[1].integer ?? 0)
                #expect(abs(Double(x) / 4 - 180 - longitude) < 3, "\(city.3)")
                // Stations in the Antarctic are beyond the picture's edge.
                #expect(abs(84 - Double(y) / 4 - max(latitude, -58)) < 3, "\(city.3)")
            }
        }

        private static let zoneTable = "/usr/share/zoneinfo/zone.tab"

        @Test func localTimes_areDrawnAgain_withEachMinute() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {offsetStrip} = await module('screens/world/offsets.js');
                const clock = {now: Date.now, setTimeout, setInterval};
                const delays = [];
                let tick;
                let now = Date.parse('2027-01-01T10:00:59.990Z');
                Date.now = () => now;
                window.setTimeout = window.setInterval = (run, delay) => {
                  delays.push(delay);
                  tick = run;
                };
                const wait = () => {
                  now += delays.at(-1);
                  tick();
                };
                document.body.append(...offsetStrip({groups: [], total: 0}, () => {}));
                wait();
                wait();
                document.body.replaceChildren();
                wait();
                Date.now = clock.now;
                Object.assign(window, {setTimeout: clock.setTimeout, setInterval: clock.setInterval});
                return delays;
                """)
            // Once more than it waits: a strip that was replaced stops.
            #expect(found == [60, 60_000, 60_000])
        }

        @Test func token_hasBandsOfOwners_withGaps() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {bands} = await module('screens/lookup/rules.js');
                const event = (n, event, installId, userId, state, tokenSha256 = 'T') =>
                  ({at: n, event, installId, userId, state, tokenSha256});
                const of = (events) => bands(events, 'T').map((band) =>
                  [band.installId, band.userId, band.state, band.from, band.to, band.end?.event ?? null]);
                return [
                  of([
                    event(5, 'loggedOut', 'b', null, 'loggedOut'), event(4, 'takenOver', 'b', 'bob', 'active'),
                    event(3, 'superseded', 'a', 'alice', 'superseded'),
                    event(2, 'topicsChanged', 'a', 'alice', 'active'),
                    event(1, 'registered', 'a', 'alice', 'active'),
                  ]),
                  of([
                    event(9, 'rotated', 'a', 'x', 'active'), event(3, 'rotated', 'a', 'x', 'active', 'U'),
                    event(1, 'registered', 'a', 'x', 'active'),
                  ]),
                  of([]),
                ];
                """)
            #expect(
                found == [
                    [
                        ["a", "alice", "active", 1, 3, "superseded"], ["b", "bob", "active", 4, 5, .null],
                        ["b", .null, "loggedOut", 5, .null, .null],
                    ],
                    [["a", "x", "active", 1, 3, "rotated"], ["a", "x", "active", 9, .null, .null]],
                    [],
                ])
        }

        /// A text that may be a token is asked for in a body first.
        @Test func tokens_areToldFromIds() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {kindsOf, providersOf, digestOf} = await module('screens/lookup/rules.js');
                const token = 'ab'.repeat(32);
                const id = 'dQw4w9WgXcQ-_012345678';
                return [
                  kindsOf(token, 'any'), kindsOf(token, 'user'), kindsOf('alice', 'any'), kindsOf('a b', 'any'),
                  kindsOf('https://push.example/x', 'installation'), providersOf(token),
                  providersOf('https://push.example/x'),
                  await digestOf('ABCD', 'apns') === await digestOf('abcd', 'fcm'),
                  kindsOf(id, 'any'), kindsOf(id, 'installation'), kindsOf(id + ':APA91b', 'any'),
                  kindsOf('a' + id.slice(1), 'any'),
                  await digestOf(id + ':APA91b', 'fcm') === await digestOf(id, 'fcm'),
                  await digestOf(id + ':APA91b', 'huawei') === await digestOf(id, 'fcm'),
                ];
                """)
            #expect(
                found == [
                    ["token"], ["token", "user"], ["installation", "user"], [], [],
                    ["apns", "apnsSandbox", "fcm", "huawei"], ["webPush"], true, ["token"],
                    ["token", "installation"], ["token"], ["installation", "user"], true, false,
                ])
        }

        /// A reason without a sentence would be shown as a code.
        @Test func everyReasonOfTheHistory_hasASentence() async throws {
            let pairs = [
                "registered.firstRegistration", "registered.sessionChanged", "registered.ownerChanged",
                "rotated.tokenChanged", "rotated.respelled", "takenOver.tokenMoved", "takenOver.ownerChanged",
                "reactivated.comeback", "reactivated.cleanupUndone", "superseded.tokenMoved", "superseded.reinstalled",
                "superseded.limit", "loggedOut.loggedOut",
                "loggedOut.userLoggedOut", "logoutIgnored.outdatedLogout", "sessionEnded.sessionEnded",
                "sessionEnded.sessionExpired", "unregistered.tokenDead", "unregistered.suspectSilent",
                "unregistered.feedbackBreaker", "suspect.feedbackBreaker", "reactivated.feedbackRestored",
                "suspect.tokenRefused", "suspect.recentlySeen", "stale.unseen", "deleted.deletedByCaller",
                "deleted.purged", "erased.userErased", "imported.imported", "topicsChanged.topicsPatched",
                "topicsChanged.topicsRegistered", "tokenMoved",
            ]
            let found = try await Console.shared.evaluate(
                """
                return Object.keys((await module('text/lookup.js')).lookupTexts)
                  .filter((key) => key.startsWith('event.')).map((key) => key.slice('event.'.length));
                """)
            #expect(Set(found.array.compactMap(\.string)) == Set(pairs))
        }

        @Test func policies_differByMeaning_andPatchOnlyWhatDiffers() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {differing, patchOf, applied, memberAt, amountOf, durationOf, secondsOf} =
                  await module('screens/operations/policy.js');
                const before = {grace: 'P7D', staleAfter: {apns: 'P60D'}, rateLimits: {perKey: null},
                  jwks: {keys: [{a: 1, b: 2}]}};
                const after = {grace: 'PT168H', staleAfter: {apns: 'P30D'}, rateLimits: {perKey: {rate: 1, burst: 2}},
                  jwks: {keys: [{b: 2, a: 1}]}};
                const changes = differing(before, after);
                return [
                  patchOf(changes), differing(applied(before, changes), after), before.staleAfter.apns,
                  memberAt('/rateLimits/perKey/rate').path, memberAt('/other') ?? null,
                  [amountOf('P1DT2H'), amountOf('P35D'), amountOf('P5W')], durationOf(5, 'minutes'), secondsOf('P1Y'),
                ];
                """)
            #expect(
                found == [
                    ["staleAfter": ["apns": "P30D"], "rateLimits": ["perKey": ["rate": 1, "burst": 2]]], [], "P60D",
                    "rateLimits.perKey", .null,
                    [
                        ["amount": 26, "unit": "hours"], ["amount": 35, "unit": "days"],
                        ["amount": 5, "unit": "weeks"],
                    ],
                    "PT5M", .null,
                ])
        }

        /// A member that the form leaves out could not be edited, and nobody would notice.
        @Test func policyForm_hasEveryMember() async throws {
            let app = try Console.shared.filled
            let policy = try await app.send("GET", "", by: .role(.admin)).json
            let found = try await Console.shared.evaluate(
                """
                const {members} = await module('screens/operations/policy.js');
                return members.map((member) => member.path.split('.')[0]);
                """)
            #expect(Set(found.array.compactMap(\.string)) == Set(policy.object.keys).subtracting(["app"]))
        }

        @Test func funnels_ratesAndChecklists_areComputed() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {funnel, intervalOf} = await module('screens/messages.js');
                const {ratesBetween} = await module('screens/operations.js');
                const {checklist, differences} = await module('screens/lookup/rules.js');
                const start = Date.parse('2026-01-01T00:00:00Z');
                const interval = (hours) => intervalOf({
                  createdAt: '2026-01-01T00:00:00Z', expiresAt: '2027-01-01T00:00:00Z',
                  asOf: new Date(start + hours * 3_600_000).toISOString(),
                });
                const counts = (at, n, process) =>
                  ({at, process, startedAt: '', requests: {'2xx': n}, registrations: {}});
                const early = counts('2026-01-01T00:00:00Z', 5, 'a');
                return [
                  funnel({targeted: 10, accepted: 0, delivered: 5, opened: 1}).map(
                    (step) => [step.step, step.ofTargeted]),
                  [1, 100, 7_000].map(interval),
                  ratesBetween(early, counts('2026-01-01T00:00:02Z', 9, 'a')),
                  ratesBetween(early, counts('2026-01-01T00:00:02Z', 9, 'b')),
                  checklist({unreachableBecause: ['state-stale', 'later']}).map((each) => each.code), checklist({}),
                  differences([
                    {at: 2, settings: {a: 'x'}, device: {l: ['de']}}, {at: 1, settings: {a: 'x'}, device: {l: []}},
                  ]),
                ];
                """)
            #expect(
                found == [
                    [["targeted", 1], ["delivered", 0.5], ["opened", 0.1]], ["PT1M", "PT1H", "P1D"],
                    ["requests.2xx": 2], .null,
                    ["state-stale", .null, .null, "later"], .null,
                    [["at": 2, "changes": [["name": "l", "before": .null, "after": "de"]]]],
                ])
        }
    }
}
