/**
 * What this cluster is to another one, as far as this node has applied the log (standby-link 2):
 * kept beside the state, for it is asked with every command of a client.
 */
import {
  type Command,
  type Refusal,
  type StandbyRoleRow,
  type State,
  standbyRoleOf,
} from '@svc/engine';
import { STANDBY_REFUSAL } from './standby-leader.js';

export class ClusterRole {
  #row: StandbyRoleRow | null;

  constructor(state: State) {
    this.#row = standbyRoleOf(state);
  }

  /** null: it never was a standby. */
  get row(): StandbyRoleRow | null {
    return this.#row;
  }

  get isStandby(): boolean {
    return this.#row?.role === 'standby';
  }

  /** An entry that is applied has given the cluster this role. */
  changed(row: StandbyRoleRow): void {
    this.#row = row;
  }

  /** Why no leader need be asked; null: it may be planned. */
  refusal({ kind }: Command): Refusal | null {
    return this.isStandby && kind !== 'promote' ? STANDBY_REFUSAL : null;
  }
}
