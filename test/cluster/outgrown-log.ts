/**
 * Makes a cluster give up the beginning of its log while a node is down, so that this node can only
 * come back by a snapshot. Space is given up below the lowest entry that a stored message stands
 * in, so everything that was stored before has to be deleted; what a run still needs must come
 * after.
 */
import { sleep } from '../process/node-under-test.js';
import { type Cluster, until } from './cluster.js';

/** Settings under which that takes seconds. */
export const OUTGROWING = {
  SVC_RAFT_PURGE_HOLD_S: '1',
  SVC_RAFT_LOG_KEEP: '16',
  SVC_RAFT_SEGMENT_BYTES: '65536',
} as const;

/** More than the step in which space is given up. */
const ENTRIES = 1400;
const PUSHERS = 2;
const FILLER = 'filler';
const PAYLOAD = 'x'.repeat(400);
const GIVEN_UP_MS_MAX = 20_000;

/** Returns how many entries the log is longer; `queues` are deleted with all they hold. */
export async function outgrowLog(cluster: Cluster, queues: readonly string[]): Promise<number> {
  const leader = await cluster.waitForLeader();
  const lastIndex = async () => (await leader.status())?.lastLogIndex ?? 0;
  const before = await lastIndex();
  let last = before;
  const push = async () => {
    const items = [{ queue: FILLER, payload: PAYLOAD }];
    while (last < before + ENTRIES) {
      const { status, text } = await leader.client.post('/api/v1/push', { items });
      if (status !== 201) throw new Error(`${status} ${text}`);
    }
  };
  const look = async () => {
    while (last < before + ENTRIES) {
      await sleep(100);
      last = await lastIndex();
    }
  };
  await Promise.all([look(), ...Array.from({ length: PUSHERS }, push)]);
  const files = (await leader.status())?.log.files ?? 0;
  for (const queue of [...queues, FILLER]) {
    const path = `/api/v1/resources/queues/${queue}`;
    const { status, text } = await leader.client.send('DELETE', path, undefined);
    if (status !== 200 && status !== 404) throw new Error(`${path}: ${status} ${text}`);
  }
  await until(GIVEN_UP_MS_MAX, 'the leader gives up the beginning of its log', async () => {
    const left = (await leader.status())?.log.files ?? files;
    return left < files ? true : null;
  });
  return last - before;
}
