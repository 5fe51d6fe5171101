// Goal: a feature is its descriptor: each command has one, and what a descriptor names takes part
// in turns, in sizes and in purges by the loops alone. Method: the list against the kinds that
// travel between nodes; then a whole feature that only this file knows, in the engine's rig. Its
// rows are declarations of ephemeral queues, the shortest rows there are.
import { expect, test } from 'vitest';
import { commandFields } from '../base/commands/catalogue.js';
import type { Command, Tenant } from '../base/commands/commands.js';
import { tenantRange } from '../base/keys.js';
import type { State } from '../base/state.js';
import { PRICES } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import { type Job, type PurgeStep, purgeRange, type TurnRoom } from '../features/job.js';
import { kindsByHand } from '../forwarding/command-codec.js';
import { declaredQueues, ephemeralQueues, nameOf } from '../state/ephemeral-queues.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import { isHot } from './command-facts.js';
import type { AnyFeature, Planning } from './feature.js';
import { FEATURES } from './features.js';

const OTHER = 'aaaaaaaa-0000-4000-8000-000000000001';

test('every command is one of the hot path or has exactly one descriptor', () => {
  const kinds = [...Object.keys(commandFields), ...kindsByHand];
  const hot = kinds.filter((kind) => isHot({ kind } as Command));
  const described = FEATURES.flatMap(({ commands = {} }) => Object.keys(commands));
  expect([...hot, ...described].sort()).toEqual(kinds.sort());
});

test('every stage of a purge has a number of its own', () => {
  const numbers = FEATURES.flatMap(({ purge = [] }) => purge.map(({ number }) => number));
  expect(new Set(numbers).size).toBe(numbers.length);
});

/** A command of this test: keeps `text` for `KEPT_MS`. */
interface NoteCommand {
  readonly kind: 'note';
  readonly tenant: Tenant;
  readonly text: string;
}

const KEPT_MS = 1000;
const UNITS = 70;

class Notes implements Job {
  readonly observes = ['ephemeral-queue'] as const;
  readonly observed: unknown[] = [];
  readonly #state: State;
  #dueMs: number | null;

  constructor(state: State) {
    this.#state = state;
    this.#dueMs = declaredQueues(state, TENANT, '', 1).length === 0 ? null : 0;
  }

  nextDueMs(): number | null {
    return this.#dueMs;
  }

  observe(effect: unknown): void {
    this.observed.push(effect);
  }

  plan({ draft, room, ticket }: Planning, { tenant, text }: NoteCommand) {
    draft.emit({ kind: 'ephemeral-queue', tenant, queue: text, options: '{}' });
    this.#dueMs ??= draft.nowMs + KEPT_MS;
    if (text !== 'later') return { kind: 'none' };
    room.answer(ticket, { kind: 'none' });
    return null;
  }

  turn(draft: Draft, room: TurnRoom): void {
    expect(room.entryBytesMax).toBeGreaterThan(draft.length);
    if (this.#dueMs === null || draft.nowMs < this.#dueMs) return;
    this.#dueMs = null;
    for (const { queue } of declaredQueues(this.#state, TENANT, '', 9)) {
      draft.emit({ kind: 'ephemeral-queue', tenant: TENANT, queue, options: null });
    }
  }
}

let notes: Notes;

const noteFeature = {
  at: 'last',
  lead: ({ state }: { readonly state: State }) => {
    notes = new Notes(state);
    return notes;
  },
  commands: {
    note: {
      fills: ({ text }: NoteCommand) => text.startsWith('long'),
      units: () => UNITS,
      bytes: ({ text }: NoteCommand) => text.length,
      plan: (at: Planning, command: NoteCommand, memory: Notes) => memory.plan(at, command),
    },
  },
  purge: [
    {
      number: 100,
      step: (step: PurgeStep) => {
        const { draft, tenant } = step;
        return purgeRange(step, ephemeralQueues, tenantRange(tenant), 1, (found) => {
          for (const { key } of found) {
            draft.emit({ kind: 'ephemeral-queue', tenant, queue: nameOf(key), options: null });
          }
        });
      },
    },
  ],
} as unknown as AnyFeature;

function rigWithNotes(): EngineRig {
  const rig = new EngineRig();
  // The stage of ephemeral queues would remove the rows before that of the notes.
  rig.features = [...FEATURES.filter(({ purge }) => purge?.[0]?.number !== 4), noteFeature];
  rig.restart();
  return rig;
}

function note(text: string, tenant = TENANT): Command {
  return { kind: 'note', tenant, text } as unknown as Command;
}

function textsOf(rig: EngineRig, tenant = TENANT): string[] {
  return declaredQueues(rig.state, tenant, '', 9).map(({ queue }) => queue);
}

test('a feature of its own is planned, priced, applied, and does its job', () => {
  const rig = rigWithNotes();
  expect(rig.planner.nextDueMs()).toBeNull();
  const [first, long, later] = ['a', 'long', 'later'].map((text) => rig.send(note(text)));
  rig.turn();
  for (const request of [first, long, later]) expect(request?.outcome).toEqual({ kind: 'none' });
  expect(textsOf(rig)).toEqual(['a', 'later', 'long']);
  expect(rig.units).toBe(3 * (PRICES.command + UNITS));
  // In the line that drains first, then in the line that fills.
  expect(notes.observed).toMatchObject([{ queue: 'a' }, { queue: 'later' }, { queue: 'long' }]);
  expect(rig.planner.nextDueMs()).toBe(rig.nowMs + KEPT_MS);
  rig.advance(KEPT_MS);
  rig.turn();
  expect(textsOf(rig)).toEqual([]);
  expect(rig.planner.nextDueMs()).toBeNull();
});

test('a new leader goes on with it', () => {
  const rig = rigWithNotes();
  rig.call(note('a'));
  rig.restart();
  expect(rig.planner.nextDueMs()).toBe(0);
  rig.turn();
  expect(textsOf(rig)).toEqual([]);
});

test('the purge of a tenant removes its rows and no others', () => {
  const rig = rigWithNotes();
  for (const text of ['a', 'b', 'c']) rig.call(note(text, OTHER));
  rig.call(note('x'));
  const purge = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  for (let turns = 0; turns < 50 && purge.outcome === null; turns++) {
    rig.advance(20);
    rig.turn();
  }
  expect(purge.outcome).toEqual({ kind: 'tenant-purged', partitionsDeleted: 0 });
  expect(textsOf(rig, OTHER)).toEqual([]);
  expect(textsOf(rig)).toEqual(['x']);
});

test('a turn of pushes to a known partition asks for no row that is not there', () => {
  const rig = new EngineRig();
  rig.push('q', 'p', ['a'], false);
  // The store remembers no absence, so each such question would be a read of the disk's pages.
  const missed: string[] = [];
  const { state } = rig;
  const get = state.get.bind(state);
  state.get = (table, key) => {
    const row = get(table, key);
    if (row === undefined) missed.push(table.name);
    return row;
  };
  rig.push('q', 'p', ['b', 'c'], false);
  expect(missed).toEqual([]);
});
