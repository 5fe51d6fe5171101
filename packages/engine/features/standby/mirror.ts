/**
 * What the leader of a standby logs: entries of the source, one by one, and role entries.
 *
 * The job. An entry of the source becomes an entry of this cluster (`standby/effects.ts`), before
 * which it is proven that every node will be able to apply it, and that this state then is the
 * source's. What cannot be applied must never be proposed: a logged entry is applied by all nodes
 * of the standby, now and after every restart, and none could go on.
 *
 * Why it is hard. Several entries are in flight, so an entry has to be judged by the state as it
 * will be. And an entry assigns much that must be what this cluster would assign next: numbers of
 * queues and partitions, offsets, versions of keys, the stamp, counters that apply keeps.
 *
 * So admission is a dry run: the entry is applied to the planned state by the very code that
 * applies it later (`applyEntry`), in which all of that is asserted. An assertion that fails says
 * that the standby has diverged, and nothing was proposed. What is looked at before is what would
 * make the run say the wrong thing: the place of the entry, the catalogue version that it raises,
 * kinds of effects that this build does not know, and role entries of this very cluster.
 *
 * A run that fails has changed the planned state half. The plan is spoiled then: it says so, admits
 * nothing, and its owner makes another one when nothing is in flight any more.
 *
 * The price is that of every leader, which applies each effect twice. Rejected: comparing a few
 * numbers at the head of an entry. It proves less, each feature would have to write its number
 * there, and a mistake in one would end all nodes of the standby at once.
 */
import type { TransactionSink } from '../../base/append.js';
import { EngineBug } from '../../base/assert.js';
import { ByteReader, ByteWriter } from '../../base/bytes.js';
import { CatalogueFault } from '../../base/catalogue-fault.js';
import type { State } from '../../base/state.js';
import { PlannedState } from '../../draft/planned-state.js';
import { applyEntry, readMeta } from '../../state/apply.js';
import {
  type Effect,
  effectKinds,
  readEffect,
  readEntryHeader,
  writeEffect,
  writeEntryHeader,
} from '../../state/effects.js';
import { MIRROR_CODE, STANDBY_ROLE_CODE } from '../../state/standby/effects.js';
import {
  type SourcePosition,
  type StandbyRoleRow,
  sourcePositionOf,
  standbyRoleOf,
} from '../../state/standby/tables.js';

/** An entry with effects, as it stands in the log of the source. */
export interface SourceEntry {
  readonly index: number;
  readonly term: number;
  readonly body: Uint8Array;
}

export type SourceAdmission =
  /** The last `rest` bytes of `body` are the last of the source's. */
  | { readonly kind: 'admitted'; readonly body: Uint8Array; readonly rest: number }
  /** It does not follow what was admitted last: look at the position, and begin there. */
  | { readonly kind: 'moved' }
  /** Not yet: members of this cluster have to be upgraded. */
  | { readonly kind: 'waits'; readonly error: string }
  /** The source is this cluster, or follows it. */
  | { readonly kind: 'own-entry'; readonly error: string }
  /** This state is not the one that the entry was planned for. */
  | { readonly kind: 'diverged'; readonly error: string };

/** Ids of messages are read as apply reads them for its index, and go nowhere. */
const NO_INDEX: TransactionSink = { insertBytes: () => {} };

/**
 * An entry is at most as much longer here than the one of the cluster that planned it: one `mirror`
 * effect, which is a kind (1), a length (4) and three numbers of at most 53 bits (8 each). It does
 * not add up along a chain of standbys, for each puts its own effect in the place of its source's.
 */
export const MIRROR_BYTES_MAX = 1 + 4 + 3 * 8;
const ROLE_BYTES = 256;

export class MirrorPlan {
  readonly #state: PlannedState;
  #position: SourcePosition;
  #role: StandbyRoleRow | null;
  #spoiled = false;

  constructor(applied: State) {
    this.#state = new PlannedState(applied);
    this.#position = sourcePositionOf(applied);
    this.#role = standbyRoleOf(applied);
  }

  /** Where this cluster will be when everything that was admitted is applied. */
  get position(): SourcePosition {
    return this.#position;
  }

  get role(): StandbyRoleRow | null {
    return this.#role;
  }

  get isSpoiled(): boolean {
    return this.#spoiled;
  }

  /**
   * Judges `entry`, which would stand at `index` here. `previous`: the index of the source's entry
   * before it; `readable`: the newest catalogue version that every member reads.
   */
  admit(index: number, previous: number, entry: SourceEntry, readable: number): SourceAdmission {
    const { index: at } = this.#position;
    if (previous !== at || entry.index <= at || this.#spoiled) return { kind: 'moved' };
    try {
      const why = this.#lookAt(entry, readable);
      if (why !== null) return why;
      const { body, rest } = mirrored(previous, entry);
      this.#spoiled = true;
      this.#state.begin(index);
      applyEntry(this.#state, NO_INDEX, index, body, undefined, readable);
      this.#spoiled = false;
      const { term } = entry;
      const stampUs = readEntryHeader(new ByteReader(body));
      this.#position = { index: entry.index, term, stampUs };
      return { kind: 'admitted', body, rest };
    } catch (error) {
      if (!(error instanceof EngineBug || error instanceof CatalogueFault)) throw error;
      return { kind: 'diverged', error: `source entry ${entry.index}: ${error.message}` };
    }
  }

  /** The entry that gives this cluster the role, which would stand at `index`. */
  takeRole(index: number, row: StandbyRoleRow): Uint8Array {
    const { stampUs } = readMeta(this.#state);
    const body = roleBody(stampUs, row);
    this.#state.begin(index);
    applyEntry(this.#state, NO_INDEX, index, body);
    this.#role = row;
    return body;
  }

  /** The stamp of the state when everything that was admitted is applied. */
  get stampUs(): number {
    return readMeta(this.#state).stampUs;
  }

  /** The entry at `index` has been applied to the state below. */
  applied(index: number): void {
    this.#state.applied(index);
  }

  /** null: nothing speaks against the run. Reads the heads of the effects alone. */
  #lookAt({ index, body }: SourceEntry, readable: number): SourceAdmission | null {
    const reader = new ByteReader(body);
    readEntryHeader(reader);
    while (reader.position < reader.end) {
      const effect = readRelevant(reader);
      if (effect?.kind === 'cluster-version' && effect.version > readable) {
        const error =
          `source entry ${index} raises the cluster version to ${effect.version}, and not every ` +
          'member of this standby is known to read it: upgrade the standby first';
        return { kind: 'waits', error };
      }
      if (effect?.kind === 'standby-role' && effect.row.id === this.#role?.id) {
        const error =
          `source entry ${index} is this cluster's own standby entry: SVC_LINK_SOURCE names ` +
          'this cluster itself, or a cluster that follows it';
        return { kind: 'own-entry', error };
      }
    }
    return null;
  }
}

/** The effect at the reader's position if it is one that admission asks about; else null. */
function readRelevant(reader: ByteReader): Effect | null {
  const code = reader.bytes[reader.position];
  if (code !== effectKinds['cluster-version'].number && code !== STANDBY_ROLE_CODE) {
    skipEffect(reader);
    return null;
  }
  const effect = readEffect(reader);
  return effect.kind === 'append' || effect.kind === 'relocate' ? null : effect;
}

function mirrored(previous: number, { index, term, body }: SourceEntry) {
  const writer = new ByteWriter(body.length + MIRROR_BYTES_MAX);
  const reader = new ByteReader(body);
  writeEntryHeader(writer, readEntryHeader(reader));
  writeEffect(writer, { kind: 'mirror', previous, index, term });
  if (reader.bytes[reader.position] === MIRROR_CODE) skipEffect(reader);
  writer.copy(body, reader.position, body.length);
  return { body: writer.finish(), rest: body.length - reader.position };
}

function skipEffect(reader: ByteReader): void {
  reader.u8();
  reader.skip(reader.u32());
}

/** The entry that gives a cluster the role, when its state has this stamp. */
export function roleBody(stampUs: number, row: StandbyRoleRow): Uint8Array {
  return ownBody(stampUs, { kind: 'standby-role', row });
}

/** The first entry of a cluster whose state is that of its source at `position`. */
export function seedBody(position: SourcePosition, row: StandbyRoleRow): Uint8Array {
  return ownBody(position.stampUs, { kind: 'seed', position, row });
}

function ownBody(stampUs: number, effect: Effect): Uint8Array {
  const writer = new ByteWriter(ROLE_BYTES);
  writeEntryHeader(writer, stampUs);
  writeEffect(writer, effect);
  return writer.finish();
}
