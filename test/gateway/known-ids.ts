/**
 * Which tenant the broker made an id for: the one whose answers it is first seen in, unless that
 * tenant chose it itself. An id of one in an answer to another is a leak.
 */
import type { Exchange } from '../contract/broker-under-test.js';

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Stands where there is no id. */
const NONE = '00000000-0000-0000-0000-000000000000';

export class KnownIds {
  readonly #owners = new Map<string, string>();
  readonly #sent = new Set<string>();
  #last: string | null = null;
  /** Ids of one tenant in answers to another, with the request. */
  readonly met: string[] = [];

  get count(): number {
    return this.#owners.size;
  }

  /** The one that was seen last. */
  get last(): string | null {
    return this.#last;
  }

  saw(tenant: string, { method, path, body, answer }: Exchange): void {
    const text = typeof body === 'string' ? body : Buffer.from(body ?? []).toString('latin1');
    for (const id of idsIn(`${path} ${text}`)) if (!this.#owners.has(id)) this.#sent.add(id);
    for (const id of idsIn(answer.text)) {
      if (this.#sent.has(id)) continue;
      const owner = this.#owners.get(id);
      if (owner === undefined) this.#owners.set(id, tenant);
      else if (owner !== tenant) this.met.push(`${id} of ${owner} to ${tenant}: ${method} ${path}`);
      this.#last = id;
    }
  }

  /** Ids of anybody in a text, but for those of the request. */
  of(text: string, request: string): string[] {
    return idsIn(text).filter((id) => this.#owners.has(id) && !request.includes(id));
  }
}

function idsIn(text: string): string[] {
  return [...text.toLowerCase().matchAll(UUID)].map(([id]) => id).filter((id) => id !== NONE);
}
