/**
 * What pages of other origins may do (gateway 3).
 *
 * CORS tells a browser which pages may read answers; it keeps no request from arriving. CSRF rules
 * keep away what a page makes a browser send with the cookies of its user. A browser says for whom
 * it speaks with `Origin`, with `Referer` or with `Sec-Fetch-Site`, and programs say nothing:
 *
 *     safe method ------------------------------------------------> passes
 *     `Origin`, else the origin of `Referer` ----- allowed, own --> passes, else refused
 *     `Sec-Fetch-Site` --------------------------- same-origin ---> passes, else refused
 *     none of them ------------------------------- no cookie -----> passes, else refused
 *
 * Own is the host that the request itself names: scheme and standard port are not compared, because
 * behind a proxy that ends TLS the gateway knows neither. On the data plane the rule is for
 * requests with a session cookie; keys and tokens are sent by programs, never by a browser of
 * itself.
 */
import type { Refusal } from '../base/refusal.js';

export interface OriginOptions {
  /** `SVC_EDGE_CORS_ORIGINS`: `scheme://host[:port]` each; `*`: every page, without cookies. */
  readonly corsOrigins: readonly string[];
  /** `SVC_EDGE_CORS_HEADERS`: what pages may send, as the header of the answer has it. */
  readonly corsHeaders: string;
  /** `SVC_PUBLIC_ORIGINS`: under which the gateway itself is reached, besides its `Host`. */
  readonly publicOrigins: readonly string[];
}

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** "" for a header that is not there. */
export interface Claims {
  readonly method: string;
  readonly host: string;
  readonly origin: string;
  readonly referer: string;
  /** `Sec-Fetch-Site`. */
  readonly site: string;
}

export type PreflightAnswer =
  | { readonly status: 204; readonly headers: HeaderList }
  | { readonly status: 403; readonly refusal: Refusal };

const MAX_AGE_S = '600';
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const EXPOSED = 'ETag, Retry-After, x-request-id, x-svc-next-after, x-svc-request-id';
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const NO_HEADERS: HeaderList = [];
const VARIES: HeaderList = [['Vary', 'Origin']];

const PREFLIGHT_REFUSED: PreflightAnswer = {
  status: 403,
  refusal: { status: 403, code: 'csrf_rejected', error: 'this origin is not allowed' },
};
const CSRF: Refusal = {
  status: 403,
  code: 'csrf_rejected',
  error: 'a page of another origin may not do this',
};

export class Origins {
  readonly #cors: ReadonlySet<string>;
  readonly #allowed: ReadonlySet<string>;
  readonly #corsHeaders: string;

  constructor({ corsOrigins, corsHeaders, publicOrigins }: OriginOptions) {
    this.#cors = new Set(corsOrigins.map((origin) => origin.toLowerCase()));
    // `*` lets pages read what needs no cookie; it is nobody's own origin.
    this.#allowed = new Set(
      [...corsOrigins, ...publicOrigins]
        .filter((origin) => origin !== '*')
        .map((origin) => origin.toLowerCase()),
    );
    this.#corsHeaders = corsHeaders;
  }

  /**
   * Headers of every answer, whatever its request says. With `*` alone they vary too, for a request
   * without `Origin` gets no CORS headers: a cache that kept its answer would give a page one that
   * it may not read, and `*` to a page that asks with credentials.
   */
  get standing(): HeaderList {
    return this.#cors.size === 0 ? NO_HEADERS : VARIES;
  }

  /** Headers of every answer to a request with this `Origin`, beside the standing ones. */
  headersFor(origin: string): HeaderList {
    const reader = this.#readerOf(origin);
    if (reader.length === 0) return reader;
    return [...reader, ['Access-Control-Expose-Headers', EXPOSED]];
  }

  /** For `OPTIONS` with `Origin` and `Access-Control-Request-Method`. */
  preflight(origin: string): PreflightAnswer {
    const reader = this.#readerOf(origin);
    if (reader.length === 0) return PREFLIGHT_REFUSED;
    const headers: HeaderList = [
      ...reader,
      ['Access-Control-Allow-Methods', METHODS],
      ['Access-Control-Allow-Headers', this.#corsHeaders],
      ['Access-Control-Max-Age', MAX_AGE_S],
    ];
    return { status: 204, headers };
  }

  /** `hasCookie`: on the data plane that of a session, elsewhere any. Null: it may go on. */
  fault(claims: Claims, hasCookie: boolean, isDataPlane: boolean): Refusal | null {
    if (SAFE.has(claims.method) || (isDataPlane && !hasCookie)) return null;
    const origin = claims.origin === '' ? originOf(claims.referer) : claims.origin;
    if (origin !== '') return this.#isOwn(origin.toLowerCase(), claims.host) ? null : CSRF;
    if (claims.site !== '') return claims.site === 'same-origin' ? null : CSRF;
    return hasCookie ? CSRF : null;
  }

  #readerOf(origin: string): HeaderList {
    if (origin === '' || this.#cors.size === 0) return NO_HEADERS;
    if (this.#cors.has(origin.toLowerCase()) && origin !== '*') {
      return [
        ['Access-Control-Allow-Origin', origin],
        ['Access-Control-Allow-Credentials', 'true'],
      ];
    }
    return this.#cors.has('*') ? [['Access-Control-Allow-Origin', '*']] : NO_HEADERS;
  }

  #isOwn(origin: string, host: string): boolean {
    if (this.#allowed.has(origin)) return true;
    const [scheme = '', rest = ''] = origin.split('://');
    const isPage = scheme === 'https' || scheme === 'http';
    return isPage && rest !== '' && rest === host.toLowerCase();
  }
}

/** "" without a `Referer`; what is no address of a page is an origin that nobody allows. */
function originOf(referer: string): string {
  if (referer === '') return '';
  return URL.canParse(referer) ? new URL(referer).origin : 'null';
}
