/**
 * Goal: a cycle or a registration that a node sends again under its id, because it does not know
 * what became of it, is planned once and has its first outcome, whoever leads by then. Method: each
 * with and without what goes into the line of pushes, before and after an election.
 */
import { expect, test } from 'vitest';
import type { Command, Outcome } from '../base/commands/commands.js';
import { utf8Read } from '../base/utf8.js';
import { newRequestSession, type RequestOrigin } from '../state/request-id.js';
import { popCommand, pushCommand } from '../testing/engine.fake.js';
import { walked } from '../testing/page.fake.js';
import { RequestGroup } from '../testing/request-group.fake.js';
import {
  type CycleParts,
  cycleCommand,
  filterOf,
  readRows,
  registerCommand,
} from '../testing/stream.fake.js';

const SESSION = newRequestSession(2 ** 33 + 7, 1, 2);

function origin(sequence: number): RequestOrigin {
  return { session: SESSION, sequence, settledBelow: 0, settled: [] };
}

function call(group: RequestGroup, command: Command, from: RequestOrigin | null): Outcome {
  const heard: Outcome[] = [];
  group.send(command, from, (outcome) => heard.push(outcome));
  group.settleDown();
  expect(heard).toHaveLength(1);
  return heard[0] as Outcome;
}

/** A query and a leased batch of one message. */
function leased(group: RequestGroup): { readonly queryId: string; readonly leaseId: string } {
  call(group, pushCommand('q', 'p', ['a'], false), null);
  const registered = call(group, registerCommand(), null);
  const popped = call(group, popCommand(group.nowMs, { batch: 10 }), null);
  if (registered.kind !== 'stream-registered' || popped.kind !== 'popped') throw new Error();
  const { verdict } = registered;
  if (verdict.result !== 'registered') throw new Error(verdict.result);
  return { queryId: verdict.queryId, leaseId: popped.leaseId };
}

function storedValue(group: RequestGroup, queryId: string): string {
  const answer = walked(readRows(group.state, filterOf(queryId, 1)));
  if (answer.result !== 'rows') throw new Error(answer.result);
  return answer.pieces
    .flat()
    .map(({ value }) => utf8Read(value, 0, value.length))
    .join();
}

test.each([
  ['that pushes', [['out', 'p', null]]],
  ['that pushes nothing', []],
] as const)('a cycle %s has its first outcome under the next leader', (_, pushes) => {
  for (const kept of [0, 1]) {
    const group = new RequestGroup();
    const { queryId, leaseId } = leased(group);
    const parts: CycleParts = {
      queryId,
      partitionId: 1,
      state: [['n', '1']],
      pushes,
      ack: { leaseId, count: 1 },
    };
    group.send(cycleCommand(parts), origin(1), () => {});
    group.turn();
    group.elect(kept);
    const again = call(group, cycleCommand(parts), origin(1));
    expect(again).toMatchObject({ verdict: { result: 'committed', ack: { released: true } } });
    call(group, cycleCommand({ ...parts, state: [['n', '2']], ack: null }), null);
    group.elect(0);
    expect(call(group, cycleCommand(parts), origin(1))).toEqual(again);
    expect(storedValue(group, queryId), 'it was planned once').toBe('2');
    expect(call(group, cycleCommand(parts), origin(2))).toMatchObject({
      verdict: { result: 'refused', reason: 'bad_lease' },
    });
  }
});

test('a registration stays fresh for whoever sent it', () => {
  const group = new RequestGroup();
  const first = call(group, registerCommand(), origin(1));
  expect(first).toMatchObject({ verdict: { result: 'registered', fresh: true } });
  group.elect(0);
  expect(call(group, registerCommand(), origin(1))).toEqual(first);
  expect(call(group, registerCommand(), origin(2))).toMatchObject({ verdict: { fresh: false } });
});
