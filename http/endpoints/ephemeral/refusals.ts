/** Names of ephemeral queues, and what their endpoints refuse: `{"error","code"}`. */

import { describedAs, matching, nullable, optional } from '@svc/schema';
import { EPHEMERAL_NAME_BYTES_MAX, utf8Length } from '@svc/wire';
import { errorText, RequestFault, type Status } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { bodyForm, type Members } from '../../json/body-form.js';
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

/** Answers what was sent and cannot be. */
export function badEphemeral(error: string): RequestFault {
  const text = errorText(error, 'ephemeral_bad_request');
  return new RequestFault({ status: '400 Bad Request', text });
}

const FIRST_PLAIN = 0x20;

/** Throws `RequestFault` for what is no name. */
export function checkName(field: 'queue' | 'partition' | 'group' | 'after', name: string): void {
  if (name === '') throw badEphemeral(`${field} is required`);
  const bytes = utf8Length(name);
  if (bytes > EPHEMERAL_NAME_BYTES_MAX) {
    throw badEphemeral(`${field} is ${bytes} bytes, the limit is ${EPHEMERAL_NAME_BYTES_MAX}`);
  }
  for (let i = 0; i < name.length; i++) {
    if (name.charCodeAt(i) >= FIRST_PLAIN) continue;
    throw badEphemeral(`control characters are not allowed in ${field}`);
  }
}

/** As `checkName`, where an empty name stands for none. */
export function checkNameGiven(field: 'partition' | 'group' | 'after', name: string): void {
  if (name !== '') checkName(field, name);
}

/** A form whose faults are answered as the family of these endpoints does. */
export function ephemeralForm<const All extends Members>(all: All) {
  const { schema, read } = bodyForm(all);
  return { schema, read: ephemeralReader(read) };
}

/** A reader of a body; what is none is answered as the family of these endpoints does. */
export function ephemeralReader<Value>(read: (body: Buffer) => Value): (body: Buffer) => Value {
  return (body) => {
    try {
      return read(body);
    } catch (error) {
      throw error instanceof JsonError ? badEphemeral(`bad body: ${error.message}`) : error;
    }
  };
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

const NAME = '[^\\u0000-\\u001f]{1,512}';

export const queueName = describedAs('1 to 512 bytes.', matching(new RegExp(`^${NAME}$`, 'u')));

/** Empty is as good as absent. */
const otherName = matching(new RegExp(`^(?:${NAME})?$`, 'u'));

export const partitionName = optional(
  describedAs('`Default` when absent, null or empty.', nullable(otherName)),
);

export const groupName = optional(
  describedAs('One shared cursor when absent, null or empty.', nullable(otherName)),
);
