/** What goes on around a machine: who hears of its lives, and of each of its events. */
import type { PeerPort, SourcePort } from '@svc/broker';
import type { DamageError } from '@svc/storage';
import type { SimulatedMachine } from './simulated-machine.js';

export interface Surroundings {
  /** Notes an event for the digest of the run. */
  note(text: string): void;
  /** A process begins; null: it is alone. */
  connect(machine: number): PeerPort | null;
  /** Its way to the source of its cluster; null: it follows nobody. */
  sourcePort(machine: number): SourcePort | null;
  /** The node has opened its directory and takes part. */
  began(machine: SimulatedMachine): void;
  /** It leads or follows, and has replayed everything. */
  serves(machine: SimulatedMachine): void;
  /** After each event of the process. */
  observed(machine: SimulatedMachine): void;
  /** The process was stopped since then, and goes on now. */
  goesOn(machine: SimulatedMachine, sinceMs: number): void;
  /** The last moment to look at a node. */
  ending(machine: SimulatedMachine): void;
  ended(machine: SimulatedMachine): void;
  /** The node will not start from what its directory holds. */
  refused(machine: SimulatedMachine, error: DamageError): void;
}
