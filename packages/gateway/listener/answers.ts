/** The gateway's own answers, as exchanges write them. */
import type { Exchange, Status } from '@svc/http';
import type { Refusal } from '../base/refusal.js';
import type { OwnAnswer } from '../routes/route.js';

const STATUSES: ReadonlyMap<number, Status> = new Map(
  (
    [
      '200 OK',
      '201 Created',
      '302 Found',
      '303 See Other',
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
  exchange.json(statusOf(refusal.status), refusalText(refusal), refusal.retryAfterS ?? 0);
}

/**
 * An answer of the gateway's own routes. Its headers win over those of every answer. `isRead`: it
 * tells of nothing done, and is refused where there is no room for one that is long.
 */
export function answerOwn(
  exchange: Exchange,
  { status, headers, body }: OwnAnswer,
  isRead: boolean,
): void {
  const type = headers.find(([name]) => name === 'Content-Type')?.[1] ?? 'text/plain';
  exchange.replaceHeaders(headers.filter(([name]) => name !== 'Content-Type'));
  exchange.answerInto('read', isRead);
  exchange.bytes(statusOf(status), type, typeof body === 'string' ? Buffer.from(body) : body);
}

function statusOf(code: number): Status {
  const status = STATUSES.get(code);
  if (status === undefined) throw new Error(`no answer has the status ${code}`);
  return status;
}

export function refusalText({ error, code }: Refusal): string {
  return JSON.stringify({ error, code });
}
