/**
 * The first check of every request. It refuses what a browser sends on behalf of a page of another
 * site.
 *
 * The job: a node without tokens does what anybody asks who reaches its port, and a browser on the
 * same machine or network reaches it for every page that it shows. A page cannot read an answer
 * that does not name its origin, but it needs no answer to push, to purge, or to consume by an
 * `<img>` whose address is a pop.
 *
 * What a browser says of its page, and what follows:
 * - `Sec-Fetch-Site` (to HTTPS, localhost and loopback addresses): `same-origin` and `none`, which
 *   is the address bar, are let in. Any other value is another origin.
 * - `Origin` (all that may change something, and all that scripts read across origins): the origin
 *   that the request itself goes to, by its `Host`, is let in. Scheme and port are not compared
 *   apart: behind a proxy the node does not know which scheme the client used.
 * - An origin of `allowedOrigins` is let in, and its answers say that it may read them. Where there
 *   are such origins every answer says that it varies by them, also one to a request without
 *   `Origin`: a cache that kept it would give a page one that it may not read.
 * - Neither header: no browser, or an old one, and let in. What remains is a plain-HTTP address
 *   beyond loopback, to which a browser sends an `<img>` without either header; only tokens or TLS
 *   close that (docs/operations.md says so).
 *
 * DNS rebinding makes a foreign page the same origin: its own name, resolved to this node. A node
 * that listens on loopback only is for this machine, so there the name must be one of this machine;
 * elsewhere any name may lead here, through a balancer, unless `allowedHosts` lists them.
 *
 * The page itself and its files hold no data, so any page may link to them; health and metrics are
 * for probes, which have no names, and are not asked at all.
 */
import { isIP } from 'node:net';
import { CORS_MAX_AGE_SECONDS, HOST_VERDICTS_MAX } from '../base/limits.js';
import { standingHeaders } from './answer-heads.js';
import type { Exchange } from './exchange.js';
import type { Head } from './request-head.js';
import { isPageRead } from './static-files.js';
import type { Headers } from './transport.js';

export interface DoorOptions {
  /** `scheme://host[:port]` each, or `*` for every origin. */
  readonly allowedOrigins: readonly string[];
  /** Names without ports; empty: the rule of where the node listens. */
  readonly allowedHosts: readonly string[];
  /** Name that a node on loopback accepts beside `localhost`; null: it accepts every name there. */
  readonly machineName: string | null;
}

export const DOOR_DEFAULTS: DoorOptions = {
  allowedOrigins: [],
  allowedHosts: [],
  machineName: null,
};

const NEVER_ASKED: ReadonlySet<string> = new Set(['/health', '/metrics', '/metrics/prometheus']);

const CROSS_SITE_TEXT =
  '{"error":"a page of another origin may not do this: list its origin in SVC_ALLOWED_ORIGINS",' +
  '"code":"csrf_rejected"}';
const HOST_TEXT =
  '{"error":"this host name is not served here: list it in SVC_ALLOWED_HOSTS",' +
  '"code":"host_not_allowed"}';

/** What a page may send and read across origins. Credentials of the browser are not among it. */
const METHODS = 'GET, HEAD, POST, PUT, DELETE';
const EXPOSED = 'ETag, Retry-After, WWW-Authenticate, x-svc-next-after';

export class Door {
  readonly #origins: ReadonlySet<string>;
  readonly #anyOrigin: boolean;
  /** Headers of every answer where pages of other origins may read some; null: none may. */
  readonly #varies: Headers | null;
  readonly #hosts: ReadonlySet<string>;
  readonly #machineName: string | null;
  #asksHost: boolean;
  /** Verdicts by the `Host` header as it came; a client sends the same one with every request. */
  readonly #hostVerdicts = new Map<string, boolean>();
  /** One that is served; comparing a text with it costs less than looking the text up. */
  #servedHost: string | null = null;

  constructor({ allowedOrigins, allowedHosts, machineName }: DoorOptions) {
    this.#origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
    this.#anyOrigin = this.#origins.has('*');
    this.#varies = this.#origins.size === 0 ? null : standingHeaders([['Vary', 'Origin']]);
    this.#hosts = new Set(allowedHosts.map((host) => host.toLowerCase()));
    this.#machineName = machineName?.toLowerCase() ?? null;
    this.#asksHost = this.#hosts.size > 0;
  }

  listensAt(host: string): void {
    const isForThisMachine = this.#machineName !== null && isLoopback(host);
    this.#asksHost = this.#hosts.size > 0 || isForThisMachine;
  }

  /** False: the request has its answer. `unmatched`: no route takes it. */
  admits(
    exchange: Exchange,
    head: Head,
    method: string,
    path: string,
    unmatched: boolean,
  ): boolean {
    if (this.#varies !== null) exchange.addHeaders(this.#varies);
    const site = head.getHeader('sec-fetch-site');
    const origin = head.getHeader('origin');
    if (site === '' && origin === '' && !this.#asksHost) return true;
    const host = head.getHeader('host');
    const servesHost = !this.#asksHost || this.#serves(host);
    if (servesHost && origin === '' && OWN_SITES.has(site)) return true;
    const readsPage = unmatched && isPageRead(method, path);
    if (NEVER_ASKED.has(path)) return true;
    return this.#judge(exchange, head, method, { site, origin, host, servesHost, readsPage });
  }

  #judge(exchange: Exchange, head: Head, method: string, said: Said): boolean {
    if (!said.servesHost) {
      exchange.json('403 Forbidden', HOST_TEXT);
      return false;
    }
    if (said.readsPage || isOwnOrigin(said)) return true;
    if (said.origin === '' || !this.#allows(said.origin)) {
      exchange.json('403 Forbidden', CROSS_SITE_TEXT);
      return false;
    }
    const reader: Headers = [['Access-Control-Allow-Origin', said.origin]];
    if (method !== 'OPTIONS' || head.getHeader('access-control-request-method') === '') {
      exchange.addHeaders([...reader, ['Access-Control-Expose-Headers', EXPOSED]]);
      return true;
    }
    exchange.addHeaders([...reader, ...preflightHeaders(head)]);
    exchange.noContent();
    return false;
  }

  #allows(origin: string): boolean {
    return this.#anyOrigin || this.#origins.has(origin.toLowerCase());
  }

  #serves(host: string): boolean {
    if (host === this.#servedHost) return true;
    let verdict = this.#hostVerdicts.get(host);
    if (verdict === undefined) {
      verdict = this.#isServed(nameOf(host));
      if (this.#hostVerdicts.size >= HOST_VERDICTS_MAX) this.#hostVerdicts.clear();
      this.#hostVerdicts.set(host, verdict);
    }
    if (verdict) this.#servedHost = host;
    return verdict;
  }

  /** A request without a name is served: browsers always send one, so it is no rebound page. */
  #isServed(name: string): boolean {
    if (name === '') return true;
    if (this.#hosts.size > 0) return this.#hosts.has(name);
    return isIP(name) !== 0 || name === 'localhost' || name === this.#machineName;
  }
}

interface Said {
  readonly site: string;
  readonly origin: string;
  readonly host: string;
  readonly servesHost: boolean;
  /** True when the request reads the page or one of its files. */
  readonly readsPage: boolean;
}

const OWN_SITES: ReadonlySet<string> = new Set(['', 'same-origin', 'none']);

/**
 * False when the request comes from a page of another origin. `Sec-Fetch-Site` decides where the
 * browser sends it; otherwise `Origin`, if there is one, must name the same host as `Host`.
 */
function isOwnOrigin({ site, origin, host }: Said): boolean {
  if (site !== '') return site === 'same-origin' || site === 'none';
  if (origin === '') return true;
  const at = origin.indexOf('://');
  if (at === -1) return false;
  const asked = origin.slice(at + '://'.length).toLowerCase();
  return asked !== '' && asked === host.toLowerCase();
}

/**
 * Headers of the answer to a preflight. The requested header names are repeated in it only if they
 * are a plain list of names.
 */
function preflightHeaders(head: Head): Headers {
  const requested = head.getHeader('access-control-request-headers');
  const headers: [string, string][] = [
    ['Access-Control-Allow-Methods', METHODS],
    ['Access-Control-Max-Age', String(CORS_MAX_AGE_SECONDS)],
  ];
  if (/^[\w\-, ]+$/.test(requested)) headers.push(['Access-Control-Allow-Headers', requested]);
  if (head.getHeader('access-control-request-private-network') === 'true') {
    headers.push(['Access-Control-Allow-Private-Network', 'true']);
  }
  return headers;
}

/**
 * Name in a `Host` header, in small letters: without the port, the brackets of an IPv6 literal, and
 * a final dot.
 */
function nameOf(host: string): string {
  const literal = /^\[([^\]]*)\](:\d+)?$/.exec(host)?.[1];
  if (literal !== undefined) return literal.toLowerCase();
  const colon = host.lastIndexOf(':');
  const name = (colon === -1 ? host : host.slice(0, colon)).toLowerCase();
  // A final dot names the root of the DNS: with and without it the name is the same.
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
