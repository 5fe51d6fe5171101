import type { SourcePort } from '@svc/broker';
import type { ClientNetwork } from './client-network.js';

/** What a cluster has to do with another one. */
export interface Beside {
  /** Variables of its nodes. */
  readonly environment: Readonly<Record<string, string>>;
  /** The clients of both clusters; its machine n is what they ask as `firstDoor + n`. */
  readonly clients: ClientNetwork;
  readonly firstDoor: number;
  /** The way of a new process to the source; null: it follows nobody. */
  readonly sourcePort: (machine: number) => SourcePort | null;
  readonly began: (machine: number) => void;
  readonly ended: (machine: number) => void;
}
