/**
 * Requests that this front takes and another one answers: a front thread serves what is asked for
 * all the time, and the core's own front the rest.
 */
import type { Exchange } from '../exchange/exchange.js';
import type { Head } from '../exchange/request-head.js';
import type { Headers } from '../exchange/transport.js';
import type { AskGate } from '../gate/gate-elsewhere.js';
import type { Route } from '../routing/route.js';

/** The front that serves the routes that are not served here, and has the gate. */
export interface Elsewhere {
  readonly askGate: AskGate;
  serves(route: Route): boolean;
  /** The request has passed door and caller, and is asked both again: see `Exchange.pass`. */
  pass(request: PassedRequest, exchange: Exchange): void;
}

export interface PassedRequest {
  readonly method: string;
  /** Path and query, as they came. */
  readonly target: string;
  /** Those that the front reads. */
  readonly headers: Headers;
  /** null: the route reads none. */
  readonly body: Uint8Array | null;
}

export function passedRequest(
  method: string,
  path: string,
  head: Head,
  body: Uint8Array | null,
): PassedRequest {
  const query = head.getQuery();
  const headers: (readonly [string, string])[] = [];
  for (const name of head.names()) headers.push([name, head.getHeader(name)]);
  if (body !== null) headers.push(['content-length', String(body.length)]);
  return { method, target: query === '' ? path : `${path}?${query}`, headers, body };
}
