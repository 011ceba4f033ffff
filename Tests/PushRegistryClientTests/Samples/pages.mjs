// Runs the service workers of the pages about topics, messages and notifications against a scripted registry.
import assert from "node:assert/strict";

const listeners = {};
const shown = [];
globalThis.self = globalThis;
globalThis.addEventListener = (name, listener) => { listeners[name] = listener; };
globalThis.registration = { showNotification: async (title) => void shown.push(title) };

/** Runs a listener as a browser does: until all that it waits for is done. */
async function dispatch(name, members) {
  const waits = [];
  listeners[name]({ ...members, waitUntil: (work) => void waits.push(work) });
  await Promise.all(waits);
}

let calls = [];
/** Each response is [status, members]. After the last one, calls succeed. */
function script(...responses) {
  calls = [];
  globalThis.fetch = async (url, { method = "GET", headers = {}, body } = {}) => {
    calls.push({ method, url: String(url), headers, body: body && JSON.parse(body) });
    const [status, members = {}] = responses.shift() ?? [200];
    return new Response(JSON.stringify(members), { status });
  };
}

const checks = {
  async "topics: a choice is kept until the registry has it"() {
    const pending = new Map();
    const syncs = [];
    const address = (request) => new URL(request.url ?? request, "https://app.invalid").href;
    const cache = {
      put: async (request, response) => void pending.set(address(request), await response.text()),
      keys: async () => [...pending.keys()].map((url) => ({ url })),
      match: async (request) => new Response(pending.get(address(request))),
      delete: async (request) => pending.delete(address(request)),
    };
    globalThis.caches = { open: async () => cache };
    const serviceWorker = { ready: Promise.resolve({ sync: { register: (tag) => syncs.push(tag) } }) };
    Object.defineProperty(globalThis, "navigator", { value: { serviceWorker }, configurable: true });
    globalThis.installationURL = "https://push.invalid/v1/apps/a/installations/i";
    globalThis.credential = async () => "alice";
    await import("./topics.mjs");
    assert.deepEqual([syncs, pending.size], [["topics"], 1]);

    script([503]);
    await assert.rejects(dispatch("sync", { tag: "topics" }));
    assert.equal(pending.size, 1);
    script();
    await dispatch("sync", { tag: "topics" });
    const [{ method, url, headers, body }] = calls;
    assert.deepEqual([method, url], ["PATCH", `${installationURL}/topics`]);
    assert.deepEqual([headers.Authorization, body], ["Bearer alice", { topics: { offers: false } }]);
    assert.equal(pending.size, 0);
    script();
    await dispatch("sync", { tag: "topics" });
    assert.equal(calls.length, 0);
    // Neither succeeds later.
    for (const status of [400, 409]) {
      await cache.put("/pending/news", new Response("true"));
      script([status]);
      await dispatch("sync", { tag: "topics" });
      assert.equal(pending.size, 0);
    }
  },
  async "messages: each event of a push is reported"() {
    await import("./messages.mjs");
    const notification = { data: { receipt: "AQ" } };
    script();
    await dispatch("push", { data: { json: () => ({ title: "Sale", body: "…", receipt: "AQ" }) } });
    await dispatch("notificationclick", { notification });
    await dispatch("notificationclose", { notification });
    assert.deepEqual(shown.splice(0), ["Sale"]);
    const items = calls.map(({ method, url, body }) => {
      assert.deepEqual([method, url], ["POST", "https://push.example.com/v1/receipts"]);
      return body.receipts[0];
    });
    assert.deepEqual(items.map(({ event }) => event), ["delivered", "opened", "dismissed"]);
    assert(items.every(({ receipt, at }) => receipt === "AQ" && Math.abs(Date.now() - Date.parse(at)) < 60_000));
  },
  async "notifications: what was missed is shown once, in order"() {
    const store = new Map([["registration", { url: "https://push.invalid/i", deliveryKey: "key" }]]);
    globalThis.load = async (name) => store.get(name);
    globalThis.save = async (name, value) => void store.set(name, value);
    await import("./notifications.mjs");
    const push = (number, previous, epoch = "a") =>
      dispatch("push", { data: { json: () => ({ title: `push ${number}`, number, previous, epoch }) } });
    const page = (epoch, numbers, next = null) =>
      [200, { epoch, notifications: numbers.map((number) => ({ number, payload: { title: `${number}` } })), next }];

    script();
    await push(1, 0);
    await push(1, 0);
    assert.deepEqual([shown.splice(0), calls.length], [["push 1"], 0]);
    script(page("a", [2, 3], 3), page("a", [4]));
    await push(4, 3);
    assert.deepEqual(shown.splice(0), ["2", "3", "4"]);
    assert.deepEqual(calls.map(({ url }) => new URL(url).search), ["?after=1&epoch=a", "?after=3&epoch=a"]);
    assert.equal(calls[0].headers.Authorization, "Bearer key");
    // Some were dropped: the rest comes.
    script([410, { epoch: "a", first: 8, last: 9 }], page("a", [8, 9]));
    await push(9, 8);
    assert.deepEqual(shown.splice(0), ["8", "9"]);
    // Another owner, and no connection: nothing is skipped.
    script([503]);
    await push(3, 2, "b");
    script(page("b", [1, 2, 3, 4]));
    await push(4, 3, "b");
    assert.deepEqual([shown.splice(0), store.get("seen")], [["1", "2", "3", "4"], { epoch: "b", number: 4 }]);
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`ok ${name}`);
}
console.log(`${Object.keys(checks).length} checks passed`);
