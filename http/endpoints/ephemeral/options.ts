/** The options of a declared ephemeral queue (state-surfaces 4.2): a closed set, kept as sent. */
import { EPHEMERAL_OPTIONS_BYTES_MAX } from '@svc/wire';

export const EPHEMERAL_OPTION_NAMES = [
  'maxBytes',
  'maxLength',
  'policy',
  'ttlSeconds',
  'leaseSeconds',
  'retryLimit',
  'windowBuffer',
] as const;

/** Why the JSON text is no such object; null: it is one. */
export function optionsFault(text: string): string | null {
  if (Buffer.byteLength(text) > EPHEMERAL_OPTIONS_BYTES_MAX) {
    return `options are more than ${EPHEMERAL_OPTIONS_BYTES_MAX} bytes`;
  }
  const options: unknown = JSON.parse(text);
  if (!isObject(options)) return 'options must be an object';
  for (const [name, value] of Object.entries(options)) {
    const fault = optionFault(name, value);
    if (fault !== null) return fault;
  }
  return null;
}

function optionFault(name: string, value: unknown): string | null {
  if (!(EPHEMERAL_OPTION_NAMES as readonly string[]).includes(name)) {
    return `unknown option ${JSON.stringify(name)}`;
  }
  if (value === null) return null;
  if (name === 'policy') {
    const isPolicy = value === 'reject' || value === 'dropOldest';
    return isPolicy ? null : 'policy must be "reject" or "dropOldest"';
  }
  if (name !== 'windowBuffer') {
    return isCount(value) ? null : `${name} must be an integer of 0 or more`;
  }
  const isWindow =
    isObject(value) &&
    Object.keys(value).every((key) => key === 'ms' || key === 'count') &&
    isCount(value.ms) &&
    isCount(value.count);
  return isWindow ? null : 'windowBuffer must be {"ms","count"}, integers of 0 or more';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
