/**
 * The head of a request: read once, in one pass over its headers, kept as long as the request
 * lives, and looked at for what must not be believed.
 *
 * The job: of a header that comes twice the native layer hands out the first, and a proxy before
 * the node may have looked at the last. With two lengths the rest of a body becomes a request that
 * the proxy never saw; with two tenants a client puts its own before the one that the proxy added;
 * two tokens, two origins and two codings are the same trick. So each header that is read as one
 * value may come once, and whoever sends it twice is refused, whatever the values.
 *
 * Why one pass: only a pass over all headers sees the second one. It costs 150 ns a header, and
 * pays for itself with ordinary programs, because a look-up of a single header costs 100 ns and an
 * ordinary push needs five. Rejected: a pass over suspicious requests only, for nothing short of
 * the pass tells which these are; and one pass for each connection, for a proxy sends the requests
 * of many clients on one.
 *
 * A body's end is known from its head alone. Where that is in doubt, the bytes behind the head may
 * be another request, and the native layer takes them as one as soon as this one is answered. So
 * those refusals wait until it has given up what it holds: a request among those bytes is then one
 * on an unanswered connection, and ends it unseen.
 */
import { canonicalUuid, DEFAULT_TENANT, TENANT_HEADER } from '@svc/wire';
import { errorText, type Status } from './errors.js';
import type { Exchange } from './exchange.js';
import type { TransportRequest } from './transport.js';

/** Bits of `#seen`. */
const HOST = 1;
const ORIGIN = 2;
const SITE = 4;
const TENANT = 8;
const AUTHORIZATION = 16;
const LENGTH = 32;
const CODING = 64;
const TRANSFER = 128;

/** Only browsers send these, with a preflight. */
const PREFLIGHT_PREFIX = 'access-control-request-';

const KEPT_HEADERS = [
  'host',
  'origin',
  'sec-fetch-site',
  TENANT_HEADER,
  'authorization',
  'accept-encoding',
  'if-none-match',
];

const LENGTH_DIGITS_MAX = 15;
const DIGIT_ZERO = 48;

export class Head {
  /**
   * Length of the body in bytes; -1 when the head names none, -2 when it names something that is no
   * length.
   */
  bodyLength = -1;
  readonly #query: string;
  #seen = 0;
  #repeated = '';
  #host = '';
  #origin = '';
  #site = '';
  #tenant = '';
  #authorization = '';
  #coding = '';
  #transfer = '';
  /** The forms of a file that its reader takes, and the one that he has. */
  #accepted = '';
  #held = '';
  #preflight: Map<string, string> | null = null;

  constructor(query: string) {
    this.#query = query;
  }

  getQuery(): string {
    return this.#query;
  }

  /** Value of a header; "" when it is absent or not among those that are kept. */
  getHeader(name: string): string {
    switch (name) {
      case 'host':
        return this.#host;
      case 'origin':
        return this.#origin;
      case 'sec-fetch-site':
        return this.#site;
      case TENANT_HEADER:
        return this.#tenant;
      case 'authorization':
        return this.#authorization;
      case 'accept-encoding':
        return this.#accepted;
      case 'if-none-match':
        return this.#held;
      default:
        return this.#preflight?.get(name) ?? '';
    }
  }

  /** Names of the kept headers that came. */
  names(): string[] {
    const names = [...KEPT_HEADERS, ...(this.#preflight?.keys() ?? [])];
    return names.filter((name) => this.getHeader(name) !== '');
  }

  /**
   * Keeps a header if it is one of those that are read. The length is compared first, because most
   * headers are of no interest here.
   */
  take(name: string, value: string): void {
    switch (name.length) {
      case 4:
        if (name === 'host' && this.#once(HOST, name)) this.#host = value;
        break;
      case 6:
        if (name === 'origin' && this.#once(ORIGIN, name)) this.#origin = value;
        break;
      case 12:
        if (name === TENANT_HEADER && this.#once(TENANT, name)) this.#tenant = value;
        break;
      case 13:
        if (name === 'authorization' && this.#once(AUTHORIZATION, name)) {
          this.#authorization = value;
        } else if (name === 'if-none-match') this.#held = value;
        break;
      case 14:
        if (name === 'content-length') {
          if (this.#once(LENGTH, name)) this.bodyLength = lengthIn(value);
        } else if (name === 'sec-fetch-site' && this.#once(SITE, name)) this.#site = value;
        break;
      case 15:
        if (name === 'accept-encoding') this.#accepted = value;
        break;
      case 16:
        if (name === 'content-encoding' && this.#once(CODING, name)) this.#coding = value;
        break;
      case 17:
        if (name === 'transfer-encoding' && this.#once(TRANSFER, name)) this.#transfer = value;
        break;
      default:
        if (name.startsWith(PREFLIGHT_PREFIX)) {
          this.#preflight ??= new Map();
          this.#preflight.set(name, value);
        }
    }
  }

  /** True: nothing is wrong with the head. False: the request has been refused, or will be. */
  passes(exchange: Exchange): boolean {
    if (this.#repeated !== '') {
      refuseLater(exchange, '400 Bad Request', `the header \`${this.#repeated}\` comes twice`);
    } else if (this.bodyLength === -2) {
      refuseLater(exchange, '400 Bad Request', 'Content-Length is not a number');
    } else if ((this.#seen & TRANSFER) !== 0 && this.#transfer.toLowerCase() !== 'chunked') {
      const text = 'only the transfer coding `chunked` is understood';
      refuseLater(exchange, '501 Not Implemented', text);
    } else if (this.#coding !== '' && this.#coding.toLowerCase() !== 'identity') {
      const text = 'a body is read as it comes: send it without Content-Encoding';
      exchange.json('415 Unsupported Media Type', errorText(text, 'bad_request'));
    } else return true;
    return false;
  }

  #once(bit: number, name: string): boolean {
    if ((this.#seen & bit) !== 0) {
      this.#repeated = name;
      return false;
    }
    this.#seen |= bit;
    return true;
  }
}

/** The length in a Content-Length; -2 when it is not a number of 1 to LENGTH_DIGITS_MAX digits. */
function lengthIn(text: string): number {
  if (text.length === 0 || text.length > LENGTH_DIGITS_MAX) return -2;
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - DIGIT_ZERO;
    if (digit < 0 || digit > 9) return -2;
    length = 10 * length + digit;
  }
  return length;
}

function refuseLater(exchange: Exchange, status: Status, text: string): void {
  setImmediate(() => exchange.jsonAndClose(status, errorText(text, 'bad_request')));
}

let filling = new Head('');
const visit = (name: string, value: string): void => filling.take(name, value);

/** Needs `request` for this call only. `readsQuery` false: nobody will ask what its query is. */
export function readHead(request: TransportRequest, readsQuery: boolean): Head {
  filling = new Head(readsQuery ? (request.getQuery() ?? '') : '');
  request.forEach(visit);
  return filling;
}

/** The tenant that a header's value names; null: it is malformed. */
export function tenantOfHeader(value: string): string | null {
  return value === '' ? DEFAULT_TENANT : canonicalUuid(value);
}

export const INVALID_TENANT_TEXT = '{"error":"invalid x-svc-tenant header (must be a UUID)"}';
