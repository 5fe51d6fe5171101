// Goal: a gateway's grants reach the broker and leave the limits that an operator set, and a node
// that serves nothing says so. Method: the service of a follower in a group of whole nodes.
import { BrokerUnavailableError, type Grant } from '@svc/gateway';
import { expect, test } from 'vitest';
import { FakeGroup } from '../testing/group.fake.js';
import { ServiceGrants } from './grants.js';

const TENANT = '3d1c0000-0000-4000-8000-000000000001';
const OPEN = { enabled: true, maxRows: null, maxTimers: null };

test('a grant is set at the leader, and keeps its other limits', async () => {
  const group = new FakeGroup({ founders: 3, seed: 7 });
  const leader = group.leader();
  const follower = [...group.machines.values()].find((one) => one !== leader);
  const service = () => follower?.node?.broker ?? null;
  const grants = new ServiceGrants(service, BrokerUnavailableError);
  const set = async (grant: Grant) => {
    await group.finish('the grant', grants.set(TENANT, 'kv', grant), 60_000);
    // The follower applies what the leader has answered.
    group.run(1_000);
    return grants.held(TENANT, 'kv');
  };
  expect(grants.held(TENANT, 'kv')).toBeNull();
  expect(await set({ ...OPEN, maxTimers: 0 })).toMatchObject({ ...OPEN, maxTimers: 0 });
  const limited = { ...OPEN, maxBytes: 5 };
  expect(await set(limited)).toMatchObject(limited);
  expect(await set({ ...OPEN, enabled: false })).toMatchObject({ ...limited, enabled: false });
});

test('a node that serves nothing grants nothing', async () => {
  const grants = new ServiceGrants(() => null, BrokerUnavailableError);
  expect(grants.held(TENANT, 'kv')).toBeNull();
  await expect(grants.set(TENANT, 'kv', OPEN)).rejects.toThrow(BrokerUnavailableError);
});
