/** A line for a shell that tries a new key. */
import type { Scope } from './gateway-words.js';

/**
 * A `curl` line of what a key of these scopes may do. `base`: where the reader reaches the gateway,
 * without a slash at its end.
 */
export function firstCall(base: string, key: string, scopes: readonly Scope[]): string {
  const credential = `-H ${quoted(`Authorization: Bearer ${key}`)}`;
  const to = (path: string) => quoted(`${base}${path}`);
  if (scopes.includes('produce')) {
    const body = '{"items":[{"queue":"orders","payload":{"hello":"world"}}]}';
    const type = `-H ${quoted('Content-Type: application/json')}`;
    return `curl ${to('/api/v1/push')} ${credential} ${type} -d ${quoted(body)}`;
  }
  if (scopes.includes('consume')) {
    return `curl ${to('/api/v1/pop/queue/orders?wait=true&timeout=5000')} ${credential}`;
  }
  return `curl ${to('/api/v1/resources/queues')} ${credential}`;
}

/** One word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
