// A result of `bench --against` as the page gets it, of invented figures: every kind of work, both
// settings, one node and three.

import {
  type AgainstResult,
  type Comparison,
  type Contender,
  type Measurement,
  PEER_NAMES,
  type PeerName,
  type Round,
  type Work,
} from './result.js';

const RATES: { readonly [system in PeerName | 'ours']: number } = {
  ours: 40_000,
  nats: 5000,
  rabbitmq: 8000,
  redis: 45_000,
  postgres: 12_000,
};

const BATCHES = [1, 10, 100] as const;

export function fakeResult(): AgainstResult {
  const contenders = contendersOf();
  const measurements = contenders.flatMap((contender) => [
    ...BATCHES.flatMap((batch) =>
      (['publish', 'consume'] as const).map((work) => measurement(contender, work, batch)),
    ),
    measurement(contender, 'latency', 1),
  ]);
  return {
    program: 'bench --against',
    date: '2026-01-02T03:04:05.000Z',
    command: 'npm run bench -- --against nats,rabbitmq,redis,postgres',
    machine: { processor: 'A <B> & C', cores: 2, memoryGib: 24, kernel: 'linux', node: 'v20' },
    connections: 64,
    partitions: 64,
    rounds: 3,
    secondsPerRound: 5,
    ratePerSecond: 1000,
    diskSyncMs: 0.06,
    keptMemoryMib: 15_360,
    contenders,
    measurements,
    comparisons: measurements.flatMap((one) => comparison(measurements, one)),
    latencyVerdicts: [
      {
        nodes: 1,
        payloadBytes: 256,
        quantile: 'p50Ms',
        value: 0.35,
        goal: { bound: 'at most', value: 0.4, reached: true },
      },
    ],
    leftOut: [],
  };
}

function contendersOf(): Contender[] {
  const all: Contender[] = [];
  for (const nodes of [1, 3]) {
    all.push({
      system: 'ours',
      setting: 'durable',
      nodes,
      version: '1',
      label: 'majority on disk',
    });
    for (const system of PEER_NAMES) {
      if (nodes === 3 && (system === 'redis' || system === 'postgres')) continue;
      for (const setting of ['durable', 'defaults'] as const) {
        const label = setting === 'durable' ? 'synced before the answer' : 'as it comes';
        all.push({ system, setting, nodes, version: '1.2', label });
      }
    }
  }
  return all;
}

function measurement(contender: Contender, work: Work, batch: number): Measurement {
  const { system, setting, nodes } = contender;
  const scale = (setting === 'defaults' ? 3 : 1) / nodes / (work === 'consume' ? 2 : 1);
  const rate = work === 'latency' ? 1000 : RATES[system] * Math.sqrt(batch) * scale;
  const rounds = [0.9, 1, 1.15].map((factor, number) => round(number, rate * factor));
  const middle = rounds[1] ?? round(1, rate);
  return {
    system,
    setting,
    nodes,
    work,
    payloadBytes: 256,
    batch,
    rounds,
    messagesPerSecond: middle.messagesPerSecond,
    latency: middle.latency,
    serverMicrosecondsPerMessage: middle.serverMicrosecondsPerMessage,
  };
}

function round(number: number, rate: number): Round {
  const p50Ms = 20_000 / rate;
  return {
    number,
    turns: 8,
    messages: rate * 5,
    seconds: 5,
    messagesPerSecond: rate,
    latency: {
      p50Ms,
      p90Ms: p50Ms * 2,
      p99Ms: p50Ms * 4,
      p999Ms: p50Ms * 7,
      maxMs: p50Ms * 12,
    },
    loadMicrosecondsPerMessage: 1e6 / rate / 4,
    serverMicrosecondsPerMessage: 1e6 / rate,
  };
}

function comparison(all: readonly Measurement[], one: Measurement): Comparison[] {
  const { system: peer, work, setting, nodes, payloadBytes, batch } = one;
  if (peer === 'ours' || work === 'latency') return [];
  const ours = all.find(
    (other) =>
      other.system === 'ours' &&
      other.work === work &&
      other.nodes === nodes &&
      other.batch === batch,
  );
  const ratio = (ours?.messagesPerSecond ?? 0) / one.messagesPerSecond;
  const wanted = peer === 'redis' && setting === 'durable' && work === 'publish';
  const bound = batch === 1 ? 0.9 : 1.1;
  return [
    {
      peer,
      setting,
      nodes,
      work,
      payloadBytes,
      batch,
      ratio,
      ratios: [ratio * 0.9, ratio, ratio * 1.1],
      goal: wanted ? { bound: 'at least', value: bound, reached: ratio >= bound } : null,
    },
  ];
}
