/**
 * Goal: a figure that throws beside an applied entry changes nothing: the entry is applied whole,
 * the rows are those of a node that keeps no figures, and what was remembered is dropped. Method:
 * the same commands through two planners, one with figures that fail at every call.
 */
import { expect, test } from 'vitest';
import type { Command } from '../base/commands/commands.js';
import { MapState } from '../base/map-state.js';
import { EngineRig, pushCommand, TENANT } from '../testing/engine.fake.js';
import { AppliedFigures } from './applied-figures.js';
import { applyEntry } from './apply.js';
import { TABLES } from './table-list.js';
import { TransactionIndex } from './transaction-ids/id-index.js';

const COMMANDS: readonly Command[] = [
  pushCommand('q', 'p', ['a', 'b'], true),
  pushCommand('q', 'other', ['c'], false),
  { kind: 'delete-queue', tenant: TENANT, queue: 'q' },
  pushCommand('q', 'p', ['d'], false),
];

function rowsOf(state: MapState): string {
  return JSON.stringify(
    TABLES.map((table) => state.range(table, '' as never, '\uffff' as never, 1e6)),
  );
}

test('what a figure throws stays with it', () => {
  const rig = new EngineRig();
  for (const command of COMMANDS) rig.call(command);
  const plain = new MapState();
  const watched = new MapState();
  const heard: string[] = [];
  const fail = (what: string) => () => {
    heard.push(what);
    throw new Error(what);
  };
  let forgotten = 0;
  const forget = () => void forgotten++;
  const failures: unknown[] = [];
  const figures = new AppliedFigures({
    figures: { appended: fail('appended'), effect: () => {}, forget },
    deadLetters: { changed: fail('dead letters'), forget },
    events: {
      queueDeleted: fail('deleted'),
      partitionCreated: fail('created'),
      partitionDeleted: fail('dropped'),
      trimmed: fail('trimmed'),
    },
    onFailure: (error) => failures.push(error),
  });
  for (const [index, body] of rig.written) {
    applyEntry(plain, TransactionIndex.load(plain), index, body);
    applyEntry(watched, TransactionIndex.load(watched), index, body, {
      appended: () => {},
      figures,
    });
  }
  expect(rowsOf(watched)).toBe(rowsOf(plain));
  expect(new Set(heard)).toEqual(new Set(['created', 'appended', 'deleted']));
  expect(failures).toHaveLength(heard.length);
  expect(forgotten).toBe(2 * heard.length);
});
