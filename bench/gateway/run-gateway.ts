// `npm run bench -- --gateway`: what the gateway itself costs, in this process and without a node:
// memory of what it knows, and processor time for a request that it decides, sums up and counts.
// Limits let everything pass and store rows are made up, so nothing else is in the figures.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type Admitted,
  Credentials,
  Epochs,
  type Limits,
  Passage,
  type PassageConfig,
  SessionTokens,
  Targets,
} from '@svc/gateway';
import { ROUTES, Router } from '@svc/http';
import { atMost, type Figure, figure } from '../report/figure.js';
import { renderFigures, report } from '../report/report.js';
import { CLUSTERS, MADE_UP, slugOf } from './made-up-store.js';

const KEYS = 100_000;
const REQUESTS = 100_000;
const ROUNDS = 3;
const MEMORY_MB_MAX = 100;

const clock = {
  wallUs: () => Date.now() * 1_000,
  nowMs: () => performance.now(),
  after: (delayMs: number, work: () => void) => {
    const timer = setTimeout(work, delayMs);
    return () => clearTimeout(timer);
  },
};

const NO_LIMITS: Limits = {
  knows: () => true,
  pushBlock: () => null,
  request: () => null,
  messages: () => null,
  delivered: () => {},
  admit: () => null,
  retention: () => null,
  sizes: () => null,
  park: () => ({ release: () => {} }),
};

const CONFIG: PassageConfig = {
  sharedHosts: new Set(),
  defaultCluster: null,
  operatorEnabled: false,
  devInsecure: false,
  isEnforced: true,
  bodyBytesMax: 16_777_216,
  upstreamTimeoutMs: 35_000,
  longPollMarginMs: 10_000,
  longPollMaxMs: 90_000,
  cookieNames: ['svc_session'],
  controlPlaneToken: null,
};

const PUSH = Buffer.from(
  JSON.stringify({ items: [{ queue: 'orders', partition: 'p', payload: { id: 1, name: 'x' } }] }),
);
const PUSHED = Buffer.from('[{"index":0,"status":"queued","transactionId":"t","partitionId":"7"}]');

export async function runGateway(): Promise<void> {
  const startedAt = new Date();
  const credentials = await newCredentials();
  const figures: Figure[] = [];
  const before = heldMb();
  for (let at = 0; at < CLUSTERS; at++) await credentials.clusterBySlug(`c${at}`);
  for (let at = 0; at < KEYS; at++) await credentials.caller({ kind: 'key', text: keyOf(at) });
  const held = [heldMb() - before];
  const note = `${KEYS} keys of ${CLUSTERS} clusters, known`;
  figures.push(figure('memory', 'MB', held, note, atMost(MEMORY_MB_MAX)));
  for (const [name, runs] of await requestRounds(credentials)) {
    figures.push(figure(name, 'us', runs, 'processor time a request', null));
  }
  const table = renderFigures(figures);
  const options = { jsonFile: undefined };
  report({ kind: 'gateway', options, startedAt, measured: figures, table });
}

async function newCredentials(): Promise<Credentials> {
  const random = { bytes: (length: number) => new Uint8Array(length) };
  const tokens = await SessionTokens.create({ secret: 'x', issuer: 'bench', clock, random });
  const records = { store: MADE_UP };
  const epochs = new Epochs();
  return new Credentials({ records, clock, tokens, epochs, graceMs: 600_000, isStrict: false });
}

const keyOf = (at: number): string => `qk_live_${String(at).padStart(43, '0')}`;

/** Kinds of requests take turns in each round. */
async function requestRounds(credentials: Credentials): Promise<Map<string, number[]>> {
  const passage = new Passage({
    credentials,
    limits: NO_LIMITS,
    meter: { add: () => {}, whenWritten: (send) => send() },
    clock,
    config: CONFIG,
    learn: () => Promise.resolve(),
    onShadow: () => {},
    onUnreadable: () => {},
  });
  const targets = new Targets(ROUTES, new Router(ROUTES));
  const caller = await credentials.caller({ kind: 'key', text: keyOf(0) });
  const host = `${slugOf(caller?.clusterId ?? '')}.example`;
  const known = { host, authorization: `Bearer ${keyOf(0)}` };
  const bad = { host, authorization: 'Bearer a.b' };
  const kinds: [string, string, { readonly [name: string]: string }][] = [
    ['push of one message', '/api/v1/push', known],
    ['acknowledgement', '/api/v1/ack', known],
    ['refused, no credential', '/api/v1/push', { host }],
    ['refused, bad credential', '/api/v1/push', bad],
  ];
  const taken = new Map(kinds.map(([name]): [string, number[]] => [name, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, path, headers] of kinds) {
      const started = process.cpuUsage();
      for (let at = 0; at < REQUESTS; at++) {
        const target = targets.of('POST', path);
        if (target.kind !== 'route') throw new Error(`${path} is no route`);
        const incoming = {
          path,
          query: '',
          header: (wanted: string) => headers[wanted],
          isOver: false,
        };
        const admission = await passage.admit(incoming, target);
        const decided = admission.kind === 'body' ? await admission.goOn(PUSH) : admission;
        if (decided.kind === 'admitted') finish(decided);
      }
      const { user, system } = process.cpuUsage(started);
      // The first round warms up.
      if (round > 0) taken.get(name)?.push((user + system) / REQUESTS);
    }
  }
  return taken;
}

function finish(admitted: Admitted): void {
  const body = admitted.countsAnswer ? PUSHED : null;
  admitted.finish({ status: 201, bytesIn: PUSH.length, bytesOut: PUSHED.length, body });
}

/** Megabytes that are in use behind a collection. */
function heldMb(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}
