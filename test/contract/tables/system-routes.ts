/** System routes, and what a process says of itself (inspection 7, 8.1, 8.2, 8.3). */
import type { Answer } from '@svc/http/api';
import type { HealthAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import { readUntil } from '../series-reads.js';
import type { ContractTable } from '../table.js';

type LinkAnswer = Answer<'GET /api/v1/system/link'>;
type MetricsAnswer = Answer<'GET /metrics'>;
type ProcessStatusAnswer = Answer<'GET /status'>;
type SharedStateAnswer = Answer<'GET /api/v1/system/shared-state'>;

const GONE = [
  '/api/v1/system/maintenance',
  '/api/v1/system/maintenance/pop',
  '/api/v1/status/buffers',
  '/api/v1/analytics/postgres-stats',
  '/internal/api/x',
];

export const systemRoutes: ContractTable = {
  section: 'inspection 7',
  rows: [
    {
      row: 'stats/refresh',
      does: 'does nothing',
      send: 'POST /api/v1/stats/refresh',
      answer: { status: 200, text: '{"success":true,"refreshed":false,"engine":"raft"}' },
    },
    {
      row: 'system/shared-state',
      does: 'indexes of the node, queues of all tenants',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        const found = await readUntil<SharedStateAnswer>(
          broker,
          '/system/shared-state',
          ({ queues }) => queues > 0,
        );
        expect(found).toMatchObject({ enabled: true, reason: 'raft_state_machine' });
        expect(found.queues).toBeGreaterThan(0);
        expect(found.appliedIndex).toBeGreaterThan(0);
        expect(found.durableIndex).toBeLessThanOrEqual(found.appliedIndex);
      },
    },
    {
      row: 'system/link',
      does: 'an unlinked cluster; one node leads',
      run: async ({ eachNode }) => {
        const leads: boolean[] = [];
        for (const { client } of eachNode) {
          const answer = bodyOf(await client.get('/api/v1/system/link'), 200) as LinkAnswer;
          expect(Object.keys(answer)).toEqual(['role', 'leader']);
          expect(answer.role).toBe('primary');
          leads.push(answer.leader);
        }
        expect(leads.filter((one) => one).length).toBe(1);
      },
    },
    {
      row: 'system/link/promote',
      does: 'there is nothing to promote',
      send: 'POST /api/v1/system/link/promote',
      answer: {
        status: 409,
        text: '{"code":"not_standby","error":"this cluster is not a standby"}',
      },
    },
    {
      row: 'system/raft/transfer',
      does: 'leadership is of the whole cluster, and no tenant moves it',
      send: 'POST /api/v1/system/raft/transfer',
      body: { to: 1 },
      answer: {
        status: 403,
        text:
          '{"ok":false,"code":"forbidden","error":"the raft membership is cell-wide: ' +
          'no tenant but the default one acts on it"}',
      },
    },
    ...GONE.map((path) => ({
      row: 'routes that are gone',
      does: path,
      send: `GET ${path}`,
      answer: { status: 404, code: 'no_such_route' },
    })),
  ],
};

export const health: ContractTable = {
  section: 'inspection 8.1',
  rows: [
    {
      row: 'healthy',
      does: 'a node that knows its leader',
      run: async ({ eachNode, place }) => {
        for (const { client } of eachNode) {
          const { status, engine, version, raft } = bodyOf(
            await client.get('/health'),
            200,
          ) as HealthAnswer;
          expect([status, engine]).toEqual(['healthy', 'raft']);
          expect(version).toMatch(/^\d+\.\d+\.\d+$/);
          expect(raft).toMatchObject({ leader: true, storageReady: true });
          expect(['leader', 'follower']).toContain(raft.role);
          expect(raft.applied).toBeGreaterThan(0);
          expect(raft.kinds).toBeGreaterThanOrEqual(raft.clusterVersion);
          if (place.nodes > 1) {
            expect(raft.apply).toEqual({ failure: null, skipped: [] });
          }
          expect(raft.link).toBeUndefined();
        }
      },
    },
  ],
};

export const metrics: ContractTable = {
  section: 'inspection 8.2',
  rows: [
    {
      row: 'answer',
      does: 'counts of this node; what nobody counts is 0',
      run: async (broker) => {
        const { api, client, queue } = broker.sameNode;
        const read = async () => bodyOf(await client.get('/metrics'), 200) as MetricsAnswer;
        const before = await read();
        await api.pushIds(queue, 'p', ['a', 'b']);
        const after = await read();
        expect(after.requests.total).toBeGreaterThan(before.requests.total);
        expect(after.messages.total).toBeGreaterThanOrEqual(before.messages.total + 2);
        expect(after).toMatchObject({
          requests: { rate: 0 },
          messages: { rate: 0 },
          memory: { heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 },
          cpu: { user: 0, system: 0 },
          engine: 'raft',
          raft: { leader: true },
        });
        expect(after).not.toHaveProperty('database');
      },
    },
  ],
};

export const processStatus: ContractTable = {
  section: 'inspection 8.3',
  rows: [
    {
      row: 'answer',
      does: 'the process, with the blocks `kafka` and `s3`',
      run: async ({ client }) => {
        const found = bodyOf(await client.get('/status'), 200) as ProcessStatusAnswer;
        expect(found).toMatchObject({
          engine: 'raft',
          status: 'healthy',
          kafka: { mode: 'off' },
          s3: { mode: 'off', phase: 'stopped', threads: 0, controlPlane: false, sinks: [] },
        });
        expect(found.pid).toBeGreaterThan(0);
      },
    },
  ],
};
