// Runs the JavaScript sample of the page "Web apps" against a scripted registry.
import assert from "node:assert/strict";
import { PushRegistration, registrationBody } from "./sample.mjs";

class Storage {
  values = new Map();
  getItem(name) { return this.values.get(name) ?? null; }
  setItem(name, value) { this.values.set(name, String(value)); }
  removeItem(name) { this.values.delete(name); }
}

/** Each response is [status, members, fields], or null for none. After the last one, calls succeed. */
function script(...responses) {
  const calls = [];
  let open = 0;
  globalThis.fetch = async (url, { method, headers, body }) => {
    assert.equal(++open, 1, "one request at a time");
    await Promise.resolve();
    open--;
    calls.push({ call: method + (url.endsWith("/logout") ? " logout" : ""), headers, body: JSON.parse(body) });
    const fallback = [200, { generation: calls.length, registerAgainBefore: "2027-01-21T10:00:00Z" }, {}];
    const next = responses.length ? responses.shift() : fallback;
    if (next === null) throw new TypeError("no network");
    const [status, members = {}, fields = {}] = next;
    return new Response(JSON.stringify(members), { status, headers: fields });
  };
  return calls;
}

const waits = [];
const client = (storage = new Storage()) =>
  new PushRegistration("https://push.invalid/v1/apps/a", storage, async (ms) => void waits.push(ms));
const names = (calls) => calls.map(({ call }) => call);
const alice = async () => "alice";

const checks = {
  async "calls run one after the other, and the newest registration wins"() {
    const calls = script();
    const push = client();
    const results = await Promise.all([1, 2, 3].map((n) => push.register({ n }, alice)));
    assert.deepEqual(results.map(({ state }) => state), ["replaced", "replaced", "registered"]);
    assert.deepEqual(calls.map(({ body }) => body.n), [3]);
  },
  async "a 401 asks for the credential again, once"() {
    const calls = script([401, { code: "invalid-credential" }]);
    let asked = 0;
    const result = await client().register({}, async () => `jwt-${++asked}`);
    assert.equal(result.state, "registered");
    assert.deepEqual(calls.map(({ headers }) => headers.Authorization), ["Bearer jwt-1", "Bearer jwt-2"]);
    const refused = script([401, { code: "invalid-credential" }], [401, { code: "invalid-credential" }]);
    assert.equal((await client().register({}, alice)).state, "misconfigured");
    assert.equal(refused.length, 2);
  },
  async "an ended session is reported"() {
    for (const [status, code] of [[409, "session-ended"], [401, "credential-ended"]]) {
      const calls = script([status, { code }]);
      assert.equal((await client().register({}, alice)).state, "signedOutElsewhere");
      assert.equal(calls.length, 1);
    }
  },
  async "412 is sent again without If-Match"() {
    script();
    const push = client();
    await push.register({ n: 1 }, alice);
    const later = script([412, { code: "outdated" }]);
    assert.equal((await push.register({ n: 2 }, alice)).state, "registered");
    assert.deepEqual(later.map(({ headers }) => headers["If-Match"]), ['"1"', undefined]);
  },
  async "waits have full jitter on top of Retry-After"() {
    waits.length = 0;
    const calls = script([503, {}, { "Retry-After": "30" }], null, [500], [429]);
    assert.equal((await client().register({}, alice)).state, "registered");
    assert.equal(calls.length, 5);
    assert.deepEqual(waits.map((ms, n) => ms >= [30_000, 0, 0, 0][n] && ms < [31_000, 2_000, 4_000, 8_000][n]),
      [true, true, true, true]);
  },
  async "a refusal is not repeated"() {
    for (const status of [400, 403, 404, 413, 415]) {
      const calls = script([status, { code: "a-fault" }]);
      const result = await client().register({}, alice);
      assert.deepEqual([result.state, result.problem.code, calls.length], ["misconfigured", "a-fault", 1]);
    }
  },
  async "a logout is stored, and sent before the next registration"() {
    const storage = new Storage();
    script();
    await client(storage).register({}, alice);
    script(null, null, null, null, null);
    await assert.rejects(client(storage).signOut("alice's"));
    const calls = script();
    await client(storage).register({}, async () => "bob");
    assert.deepEqual(names(calls), ["POST logout", "PUT"]);
    assert.deepEqual([calls[0].headers.Authorization, calls[0].headers["If-Match"]], ["Bearer alice's", '"1"']);
    assert.equal(calls[1].headers["If-Match"], undefined);
  },
  async "the body has what the registry requires"() {
    const userAgent = "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/143.0.1";
    Object.defineProperty(globalThis, "navigator",
      { value: { language: "de-DE", languages: ["de-DE", "en"], userAgent }, configurable: true });
    globalThis.Notification = { permission: "granted" };
    const subscription = { toJSON: () => ({ endpoint: "https://push.invalid/1", keys: { auth: "a" } }) };
    const body = registrationBody(subscription, "id");
    assert.equal(body.settings.authorizationStatus, "authorized");
    assert.equal(typeof body.device.timeZoneOffset, "number");
    assert.deepEqual([body.device.locale, body.device.region, body.device.installId], ["de-DE", "DE", "id"]);
    assert.deepEqual([body.device.deviceModel, body.device.systemVersion], ["Edg", "143.0.1"]);
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`ok ${name}`);
}
console.log(`${Object.keys(checks).length} checks passed`);
