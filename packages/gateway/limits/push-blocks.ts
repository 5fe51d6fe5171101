/**
 * Which clusters may not push now, and why (gateway 6). Flags of this process, set by what looks at
 * the store from time to time; a restart begins without any and finds them again.
 */
import type { PushBlock } from './limits.js';

/** A block of storage ends when this part of the cap is left, so that it does not flutter. */
const STORAGE_RELEASE_PERCENT = 90;

export class PushBlocks {
  readonly #storage = new Set<string>();
  readonly #monthly = new Set<string>();

  /** Storage before the month where both hold. */
  of(clusterId: string): PushBlock | null {
    if (this.#storage.has(clusterId)) return 'storage';
    return this.#monthly.has(clusterId) ? 'monthly' : null;
  }

  /** Blocked strictly above the cap, released at 90 % of it. `bytesMax` null: unlimited. */
  measured(clusterId: string, bytes: number, bytesMax: number | null): void {
    if (bytesMax === null) this.#storage.delete(clusterId);
    else if (bytes > bytesMax) this.#storage.add(clusterId);
    else if (bytes * 100 <= bytesMax * STORAGE_RELEASE_PERCENT) this.#storage.delete(clusterId);
  }

  /** Blocked at the quota and above it. `quota` null: unlimited. */
  counted(clusterId: string, msgs: number, quota: number | null): void {
    if (quota !== null && msgs >= quota) this.#monthly.add(clusterId);
    else this.#monthly.delete(clusterId);
  }

  /** The cluster is there no more. */
  forget(clusterId: string): void {
    this.#storage.delete(clusterId);
    this.#monthly.delete(clusterId);
  }

  get storage(): ReadonlySet<string> {
    return this.#storage;
  }

  get monthly(): ReadonlySet<string> {
    return this.#monthly;
  }
}
