// Goal: the store that a node gives its gateway is what the gateway's own table of cases says, on
// a leader and on a follower, and says so when nobody answers. Method: that table against the
// key/value service of a follower in a group of three whole nodes on one clock.

import { StoreUnavailableError } from '@svc/gateway';
import { STORE_CASES } from '@svc/gateway/testing';
import { beforeAll, describe, expect, test } from 'vitest';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { BrokerStore } from './kv-store.js';

const storeOf = (machine: FakeMachine | undefined) =>
  new BrokerStore(() => machine?.node?.broker.kv ?? null, StoreUnavailableError);

describe.each(['leader', 'follower'])('at the %s', (where) => {
  let group: FakeGroup;
  let machine: FakeMachine | undefined;
  let cases = 0;

  beforeAll(() => {
    group = new FakeGroup({ founders: 3, seed: 7 });
    const leader = group.leader();
    const isAsked = (one: FakeMachine) => (where === 'leader') === (one === leader);
    machine = [...group.machines.values()].find(isAsked);
  });

  test.each(STORE_CASES)('$name', async ({ run }) => {
    const passMs = async (ms: number) => group.run(ms);
    const under = { store: storeOf(machine), namespace: `px.case${cases++}`, passMs };
    await group.finish('the case', run(under), 60_000);
  });
});

test('nothing is known of a node that serves nothing', async () => {
  await expect(storeOf(undefined).get('px.meta', '#schema')).rejects.toThrow(StoreUnavailableError);
});

test('a node without a majority answers nothing', async () => {
  const group = new FakeGroup({ founders: 3, seed: 7 });
  const leader = group.leader();
  group.isolate(leader.number);
  const op = { op: 'put', namespace: 'px.meta', key: '#a', value: 1 } as const;
  const ends = [storeOf(leader).get('px.meta', '#a'), storeOf(leader).batch([op])].map((promise) =>
    promise.then(
      () => 'answered',
      (error) => error instanceof StoreUnavailableError,
    ),
  );
  await group.finish(
    'the refusals',
    Promise.all(ends).then(() => {}),
    120_000,
  );
  expect(await Promise.all(ends)).toEqual([true, true]);
});
