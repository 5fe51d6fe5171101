/** GET /metrics/prometheus (inspection 9): each family as a row, every scrape read strictly. */
import { type ReadFamily, readExposition } from '@svc/http/testing';
import { expect } from 'vitest';
import type { Caller } from '../../process/http-client.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest, Place } from '../broker-under-test.js';
import { CONTRACT_FAMILIES, type ContractFamily } from '../metric-families.js';
import type { ContractRow, ContractTable } from '../table.js';

type Scrape = ReadonlyMap<string, ReadFamily>;

async function scrape(client: Caller): Promise<Scrape> {
  const { status, text } = await client.get('/metrics/prometheus');
  expect(status, text.slice(0, 200)).toBe(200);
  return readExposition(text);
}

/** One scrape of each place serves all rows that look at nothing but what is always told. */
const scrapes = new WeakMap<Place, Promise<Scrape>>();

function sharedScrape({ place, client }: BrokerUnderTest): Promise<Scrape> {
  const known = scrapes.get(place) ?? scrape(client);
  scrapes.set(place, known);
  return known;
}

/** Every combination of the values, as JSON of the labels in their order. */
function combinations(labels: Readonly<Record<string, readonly string[]>>): string[] {
  let found: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    found = found.flatMap((one) => values.map((value) => ({ ...one, [label]: value })));
  }
  return found.map((one) => JSON.stringify(one));
}

function judge(family: ReadFamily | undefined, contract: ContractFamily): void {
  if (contract.absent !== undefined) {
    expect(family).toBeUndefined();
    return;
  }
  expect(family).toMatchObject({ type: contract.type, help: expect.stringMatching(/\S/) });
  const samples = family?.samples ?? [];
  if (contract.zero === true) expect(samples.filter(({ value }) => value !== 0)).toEqual([]);
  const { labels, open } = contract;
  if (labels !== undefined) {
    const own = samples.filter(({ name }) => name === contract.name);
    const told = own.map((sample) => JSON.stringify(sample.labels));
    expect(told.sort()).toEqual(combinations(labels).sort());
  }
  for (const sample of open === undefined ? [] : samples) {
    for (const label of Object.keys(sample.labels)) expect(open).toContain(label);
  }
}

const FAMILY_ROWS: readonly ContractRow[] = CONTRACT_FAMILIES.map((contract) => ({
  row: contract.name,
  does:
    contract.absent === undefined
      ? `is a ${contract.type} with the labels of the contract`
      : `is not emitted: ${contract.absent}`,
  run: async (broker) => judge((await sharedScrape(broker)).get(contract.name), contract),
}));

/** Samples of the row's own queue, summed over all nodes, once there are any. */
async function ofQueue(
  { eachNode, queue }: BrokerUnderTest,
  family: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<readonly number[]> {
  for (let attempt = 0; attempt < 60; attempt++) {
    const read = await Promise.all(eachNode.map(({ client }) => scrape(client)));
    const found = read
      .flatMap((one) => one.get(family)?.samples ?? [])
      .filter((one) => one.labels.queue === queue)
      .filter((one) => Object.entries(labels).every(([key, value]) => one.labels[key] === value))
      .map(({ value }) => value);
    if (found.length > 0) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return [];
}

/** Families of the process and of Node, by the names that are the same in all programs. */
const OF_RUNTIME = /^(process|nodejs)_/;

const VALUE_ROWS: readonly ContractRow[] = [
  {
    row: 'headers',
    does: 'exposition text, 0.0.4, not to be cached',
    send: 'GET /metrics/prometheus',
    answer: {
      status: 200,
      headers: {
        'content-type': 'text/plain; version=0.0.4; charset=utf-8',
        'cache-control': 'no-cache',
      },
    },
  },
  {
    row: 'every family has HELP and TYPE',
    does: 'the strict reader takes it; beside those of the contract: totals, threads, the runtime',
    run: async ({ client }) => {
      const told = [...(await scrape(client)).keys()].filter((one) => !OF_RUNTIME.test(one)).sort();
      const contract = CONTRACT_FAMILIES.filter(({ absent }) => absent === undefined);
      expect(told.filter((name) => !/^svc_(cluster|http)_/.test(name))).toEqual(
        contract.map(({ name }) => name).sort(),
      );
    },
  },
  {
    row: 'counters of the answering node',
    does: 'a push, a pop and an ack at one node are counted there',
    run: async (broker) => {
      const { api, client, queue } = broker.sameNode;
      const counted = async () => {
        const read = await scrape(client);
        return ['push', 'pop', 'ack'].flatMap((call) =>
          ['requests', 'messages'].map(
            (what) => read.get(`svc_process_${call}_${what}_total`)?.samples[0]?.value ?? 0,
          ),
        );
      };
      const before = await counted();
      await api.pushIds(queue, 'p', ['a', 'b']);
      const lease = await api.popPartition(queue, 'p', { batch: 2 });
      const { partitionId = '', leaseId = '' } = lease ?? {};
      await api.ack('__QUEUE_MODE__', [
        { transactionId: 'b', partitionId, leaseId, status: 'completed' },
      ]);
      const grown = (await counted()).map((value, i) => value - (before[i] ?? 0));
      // Others use the node too.
      for (const [i, least] of [1, 2, 1, 2, 1, 1].entries()) {
        expect(grown[i]).toBeGreaterThanOrEqual(least);
      }
    },
  },
  {
    row: 'svc_parked_long_polls',
    does: 'a pop that waits is told of by the node that has it',
    run: async (broker) => {
      const { client, queue } = broker.sameNode;
      const waiting = client.get(`/api/v1/pop/queue/${queue}?wait=true&timeout=10000`);
      const told = ofQueue(broker, 'svc_parked_long_polls').then(async (pops) => {
        await broker.api.pushIds(queue, 'p', ['a']);
        return pops;
      });
      // Together: where the figures are refused nobody else would hear of the pop's end.
      const [pops, popped] = await Promise.all([told, waiting]);
      expect(pops).toEqual([1]);
      bodyOf(popped, 200);
    },
  },
  {
    row: 'svc_queue_pop_lag_milliseconds',
    does: 'the age at delivery, of the last bucket',
    run: async (broker) => {
      const { api, queue } = broker.sameNode;
      await api.pushIds(queue, 'p', ['a']);
      await api.popPartition(queue, 'p', { batch: 1 });
      const [max = -1] = await ofQueue(broker, 'svc_queue_pop_lag_milliseconds', { stat: 'max' });
      expect(max).toBeGreaterThanOrEqual(0);
    },
  },
  {
    row: 'svc_dlq_depth_by_queue',
    does: 'only the leader tells it, for the whole cluster',
    run: async (broker) => {
      const { api, queue } = broker;
      await api.pushIds(queue, 'p', ['a', 'b']);
      const lease = await api.popPartition(queue, 'p', { consumerGroup: 'g', batch: 2 });
      const { partitionId = '', leaseId = '' } = lease ?? {};
      const status = 'dlq';
      await api.ack('g', [{ transactionId: 'a', partitionId, leaseId, status, error: 'no' }]);
      expect(await ofQueue(broker, 'svc_dlq_depth_by_queue')).toEqual([1]);
    },
  },
];

export const prometheus: ContractTable = {
  section: 'inspection 9',
  rows: [...VALUE_ROWS, ...FAMILY_ROWS],
};

/** What SVC_RAFT_METRICS leaves out, by the contract's headings. */
const LEFT_OUT =
  /^svc_raft_(admit|forward|plan|push_h|pop_h|arrival|queue_wait|drain|propose|log_f)/;

export const prometheusWithoutTimings: ContractTable = {
  section: 'inspection 9',
  environment: { SVC_RAFT_METRICS: 'off' },
  rows: [
    {
      row: 'SVC_RAFT_METRICS',
      does: 'drops pipeline timing, admission and forwarding',
      run: async ({ client }) => {
        const told = [...(await scrape(client)).keys()];
        expect(told.filter((name) => LEFT_OUT.test(name))).toEqual([]);
        expect(told).toContain('svc_raft_index');
        expect(told).toContain('svc_kv_ops_total');
      },
    },
  ],
};
