/** Goal: what a node says of itself. Method: one node, alone. */
import { describe, expect, it } from 'vitest';
import { bodyOf } from './broker-api.js';
import { useNode } from './node-fixture.js';

const node = useNode();

describe('the node', () => {
  it('says that it is healthy', async () => {
    const answer = await node.client.get('/health');
    expect(bodyOf(answer, 200)).toMatchObject({
      status: 'healthy',
      engine: 'raft',
      version: '2.1.0',
      raft: { role: 'leader', leader: true, lag: 0, storageReady: true, clusterVersion: 5 },
    });
  });

  it('counts', async () => {
    const metrics = bodyOf(await node.client.get('/metrics'), 200);
    expect(metrics).toMatchObject({ engine: 'raft', raft: { role: 'leader' } });
  });

  it('shows itself and its one member', async () => {
    const status = bodyOf(await node.client.get('/api/v1/raft/status'), 200);
    expect(status).toMatchObject({ self: 1, voters: 1, singleNode: true, state: 'leader' });
    const members = bodyOf(await node.client.get('/api/v1/raft/members'), 200);
    expect(members).toMatchObject({ leaderId: 1, members: [{ nodeId: 1, local: true }] });
    const liveness = bodyOf(await node.client.get('/api/v1/raft/liveness'), 200);
    const { matchIndex } = (liveness as { members: { matchIndex: number }[] }).members[0] ?? {};
    expect(matchIndex).toBeGreaterThan(0);
    expect(liveness).toEqual({
      engine: 'raft',
      nodeId: 1,
      leaderId: 1,
      term: (status as { term: number }).term,
      viewAgeMs: 0,
      viewLeaderId: 1,
      members: [
        {
          nodeId: 1,
          role: 'voter',
          state: 'leader',
          http: null,
          raft: null,
          lastAckMs: 0,
          matchIndex,
          local: true,
        },
      ],
    });
  });
});
