// What an attack is: a record of its name, what it does in a sentence, against what, how the node
// is filled before, and the attack itself. `scenarios/` holds them, `scenario-list.ts` the list.

import type { Address } from '../rig/http-connection.js';
import type { Answer } from '../rig/http-exchange.js';
import type { AttackAnswer, AttackSocket } from './attack-socket.js';

export const AGAINST = ['node', 'cluster'] as const;
export type Against = (typeof AGAINST)[number];

/** What the attack saw that it should not have seen. */
export interface Check {
  readonly what: string;
  readonly held: boolean;
  readonly seen: string;
}

export interface AttackContext {
  /** HTTP addresses; that of the leader first. */
  readonly nodes: readonly Address[];
  /** How long a flood lasts. */
  readonly seconds: number;
  /** Whether the time of the attack is over; never while the node is filled. */
  readonly isOver: () => boolean;
  /** One line for the person who watches. */
  readonly say: (line: string) => void;
  /** Counts what became of a request: a status, or a word. */
  readonly count: (outcome: string | number, times?: number) => void;
  /** An assertion of the scenario, beside the bounds that hold for all. */
  readonly check: (what: string, held: boolean, seen: string) => void;
  /** A connection from the attacker's address; null: refused. */
  readonly open: (node?: number) => Promise<AttackSocket | null>;
  /** One counted request on a connection of its own. */
  readonly once: (request: Uint8Array | string, msMax?: number) => Promise<AttackAnswer>;
  /** For filling and for looking afterwards: an answer with a status below 300, or an error. */
  readonly ask: (method: string, path: string, body?: string) => Promise<Answer>;
}

export interface Scenario {
  readonly name: string;
  /** What the attacker does, in one sentence. */
  readonly does: string;
  /** The kind of harm, in the words of a heading. */
  readonly kind: string;
  readonly against: readonly Against[];
  /** Beside the defaults of a node. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Limit of open files of the node; that of this program where it is left out. */
  readonly openFiles?: number;
  /** No other client is at work during the attack: some faults show in silence only. */
  readonly isQuiet?: boolean;
  /** How long the attack lasts where it needs more than others. */
  readonly seconds?: number;
  readonly fill?: (context: AttackContext) => Promise<void>;
  readonly attack: (context: AttackContext) => Promise<void>;
}
