/**
 * What the routes of ephemeral queues refuse, in the family `{"error","code"}` (state-surfaces
 * 4.4).
 */
import { EPHEMERAL_NAME_BYTES_MAX, utf8Length } from '@svc/wire';
import { errorText, type Status } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { JsonError } from '../../json/json-error.js';
import type { EphemeralRefusalCode } from '../../ports/ephemeral-service.js';
import { refusal } from '../../routing/endpoint.js';

const REFUSALS: { readonly [code in EphemeralRefusalCode]: readonly [Status, string] } = {
  // Beyond the table of the contract, for which a 429 is a promise that waiting will help.
  ephemeral_too_large: [
    '413 Payload Too Large',
    'this push does not fit into the queue even when that is empty: send fewer or smaller ' +
      'messages, or raise its maxLength or maxBytes',
  ],
  queue_full: ['429 Too Many Requests', 'the queue has no room for this push within its bounds'],
  ephemeral_quota_exceeded: ['403 Forbidden', 'the allowance of this tenant is used up'],
  ephemeral_unavailable: [
    '503 Service Unavailable',
    'this node has no room for more, of this tenant or of all',
  ],
  owner_moved: ['503 Service Unavailable', 'the partition is moving to another node; retry'],
  ephemeral_forward_failed: [
    '503 Service Unavailable',
    'the node that holds the partition did not answer; retry',
  ],
};

export function refuseEphemeral(exchange: Exchange, code: EphemeralRefusalCode): void {
  const [status, error] = REFUSALS[code];
  exchange.json(status, errorText(error, code));
}

export function refuseEphemeralBody(exchange: Exchange, error: string): void {
  exchange.json('400 Bad Request', errorText(error, 'ephemeral_bad_request'));
}

const FIRST_PLAIN = 0x20;

/** Why a name is none; null: it is one. */
export function nameFault(
  field: 'queue' | 'partition' | 'group' | 'after',
  name: string,
): string | null {
  if (name === '') return `${field} is required`;
  const bytes = utf8Length(name);
  if (bytes > EPHEMERAL_NAME_BYTES_MAX) {
    return `${field} is ${bytes} bytes, the limit is ${EPHEMERAL_NAME_BYTES_MAX}`;
  }
  for (let i = 0; i < name.length; i++) {
    if (name.charCodeAt(i) < FIRST_PLAIN) return `control characters are not allowed in ${field}`;
  }
  return null;
}

/** What `read` makes of a body; null: it is none, and has been refused. */
export function readEphemeralBody<Value>(exchange: Exchange, read: () => Value): Value | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    refuseEphemeralBody(exchange, `bad body: ${error.message}`);
    return null;
  }
}

export const GATED = refusal(
  '`feature_gated`: the tenant has no grant; or `ephemeral_quota_exceeded`.',
);

export const BAD = refusal('`ephemeral_bad_request`: the shape, a name, or too many items.');

export const TOO_LONG = refusal('`name_too_long`: with the tenant, 447 bytes at most.');

export const AWAY = refusal(
  '`ephemeral_disabled`, `ephemeral_unavailable`, `owner_moved`, `ephemeral_forward_failed` or ' +
    '`overloaded`.',
);
