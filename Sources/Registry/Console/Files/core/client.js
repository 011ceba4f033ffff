// Calls the API under `/console/v1`, with the session's cookie.
//
//     const {data} = await call('POST', '/v1/apps/…/audience/count', {body, signal})
//
// A response outside of 200–299, or one that is not JSON, throws `Problem`; a request without a response throws
// `Offline`; an aborted one throws the signal's `AbortError`. `audiencePath(app, 'count')` and
// `appPath(app, 'segments', name)` encode their parts. `now()` is the service's time.

/** The error document (RFC 9457) of a response. */
export class Problem extends Error {
  constructor(status, document, retryAfterSeconds) {
    super(document.detail ?? document.title ?? String(status));
    this.name = 'Problem';
    this.status = status;
    this.code = document.code ?? '';
    this.title = document.title ?? '';
    this.detail = document.detail ?? '';
    this.requestId = document.requestId ?? '';
    /** `[{pointer or parameter, code, detail}]` */
    this.errors = document.errors ?? [];
    this.document = document;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The service could not be reached. */
export class Offline extends Error {
  constructor(cause) {
    super('offline', {cause});
    this.name = 'Offline';
  }
}

/** Dispatches `signedout` when the service no longer accepts the session. */
export const sessionEvents = new EventTarget();

/** The service's clock against the viewer's, which may be days off. Known to the second. */
let clockAhead = 0;
export const now = () => Date.now() + clockAhead;

/** How long a response may take. Audience queries end after 20 s on the service. */
const deadlineMilliseconds = 40_000;

/**
 * @param options `body`: becomes JSON. `ifMatch`, `ifNoneMatch`: an ETag. `signal`: aborts the request.
 * @returns `{status, data, etag}`; `data` is null without a body.
 */
export async function call(method, path, {body, ifMatch, ifNoneMatch, signal} = {}) {
  const headers = {Accept: 'application/json'};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (ifMatch) headers['If-Match'] = ifMatch;
  if (ifNoneMatch) headers['If-None-Match'] = ifNoneMatch;
  const deadline = AbortSignal.timeout(deadlineMilliseconds);
  let response, text;
  try {
    response = await fetch('/console' + path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Offline(error);
  }
  const at = Date.parse(response.headers.get('Date'));
  if (at) clockAhead = at - Date.now();
  if (!response.ok) throw refusal(response, text, path);
  return {status: response.status, data: text ? parsed(text, response) : null, etag: response.headers.get('ETag')};
}

/** `/v1/apps/{app}/…`, each part encoded. */
export function appPath(app, ...parts) {
  return ['/v1/apps', app, ...parts].map((part, index) => (index ? encodeURIComponent(part) : part)).join('/');
}

/** `/v1/apps/{app}/audience/{name}` */
export function audiencePath(app, name) {
  return appPath(app, 'audience', name);
}

/** A proxy may answer instead of the service, such as with the page of its sign-in. */
function parsed(text, {status}) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(status, {code: 'not-json'});
  }
}

function refusal(response, text, path) {
  const retryAfter = Number(response.headers.get('Retry-After')) || null;
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    document = {title: response.statusText};
  }
  const problem = new Problem(response.status, document, retryAfter);
  if (response.status === 401 && path !== '/v1/session') sessionEvents.dispatchEvent(new Event('signedout'));
  return problem;
}

/**
 * Sends a request whose response only matters while it is the newest: waits until the input rests, aborts what
 * is in flight, and never delivers an older response after a newer request.
 */
export class Latest {
  #timer = null;
  #controller = null;

  constructor(restMilliseconds = 300) {
    this.restMilliseconds = restMilliseconds;
  }

  /**
   * @param request `(signal) => promise`
   * @param receive called with the response, if no newer request was sent.
   * @param fail called with the error, likewise.
   */
  ask(request, receive, fail, {now = false} = {}) {
    this.cancel();
    const controller = (this.#controller = new AbortController());
    const start = async () => {
      try {
        const response = await request(controller.signal);
        if (!controller.signal.aborted) receive(response);
      } catch (error) {
        if (!controller.signal.aborted) fail(error);
      }
    };
    if (now) start();
    else this.#timer = setTimeout(start, this.restMilliseconds);
  }

  /** Forgets the request. Nothing is delivered any more. */
  cancel() {
    clearTimeout(this.#timer);
    this.#controller?.abort();
    this.#controller = null;
  }
}
