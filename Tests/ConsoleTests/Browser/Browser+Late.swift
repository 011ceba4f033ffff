import RegistryTestSupport

// What the page asks, and responses that arrive in another order than their requests were sent.

extension Browser {
    /// Keeps the method, path and body of each request from now on, in `window.requests`.
    func recordRequests() async throws {
        try await run(
            """
            const real = window.fetch;
            window.requests = [];
            window.fetch = (url, options = {}) => {
              requests.push(`${options.method} ${url} ${options.body ?? ''}`);
              return real(url, options);
            };
            """)
    }

    /// How many requests that were kept have a text.
    func requests(with text: String) async throws -> JSON {
        try await run("return requests.filter((each) => each.includes(arguments[0])).length", .string(text))
    }

    /// Replaces a text in the paths and bodies of requests from now on.
    func replaceInRequests(_ text: String, by other: String) async throws {
        try await run(
            """
            const real = window.fetch;
            const [text, other] = arguments;
            window.fetch = (url, {body, ...options} = {}) => real(
              url.replace(text, other), {...options, body: body?.replace(text, other)});
            """, .string(text), .string(other))
    }

    /// Holds the responses to requests whose path or body contains a text, until `releaseResponses` is called. Aborting
    /// such a request has no effect.
    func holdResponses(to text: String) async throws {
        try await run(
            """
            const real = window.fetch;
            window.held = [];
            window.fetch = async (url, {signal, ...options} = {}) => {
              if (!`${url} ${options.body}`.includes(arguments[0])) return real(url, {signal, ...options});
              const response = await real(url, options);
              const text = await response.text();
              await new Promise((release, fail) => window.held.push({release, fail}));
              return {ok: response.ok, status: response.status, headers: response.headers, text: async () => text};
            };
            """, .string(text))
    }

    /// Waits until a response is held.
    func waitForHeldResponse() async throws { try await wait(for: "window.held.length > 0") }

    /// Lets the page handle the held responses, or their failure.
    func releaseResponses(failing: Bool = false) async throws {
        try await run(
            """
            for (const {release, fail} of window.held) arguments[0] ? fail(new TypeError('no network')) : release();
            await new Promise((resolve) => setTimeout(resolve));
            """, .boolean(failing))
    }

    /// Loads the page again.
    func reload() async throws { _ = try await chromium.command("POST", path + "/refresh") }
}
