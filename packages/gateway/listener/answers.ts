/** The gateway's own answers, as exchanges write them. */
import type { Exchange, Status } from '@svc/http';
import type { Refusal } from '../base/refusal.js';

const STATUSES: ReadonlyMap<number, Status> = new Map(
  (
    [
      '400 Bad Request',
      '401 Unauthorized',
      '403 Forbidden',
      '404 Not Found',
      '408 Request Timeout',
      '409 Conflict',
      '413 Payload Too Large',
      '414 URI Too Long',
      '421 Misdirected Request',
      '429 Too Many Requests',
      '431 Request Header Fields Too Large',
      '500 Internal Server Error',
      '502 Bad Gateway',
      '503 Service Unavailable',
      '504 Gateway Timeout',
    ] satisfies readonly Status[]
  ).map((status) => [Number.parseInt(status, 10), status]),
);

export function refuse(exchange: Exchange, refusal: Refusal): void {
  const status = STATUSES.get(refusal.status);
  if (status === undefined) throw new Error(`no answer has the status ${refusal.status}`);
  exchange.json(status, refusalText(refusal), refusal.retryAfterS ?? 0);
}

export function refusalText({ error, code }: Refusal): string {
  return JSON.stringify({ error, code });
}
