// `npm run bench -- --timers-due N`: how late timers fire while N others wait, and what memory the
// node takes. They wait for an hour; beside them, 5,000 a second come due for some seconds, in a
// hundred partitions, with consumers that wait.
//
// Two figures: from the promised instant to the stamp of the message, which is the node's own
// delay, and to the moment at which a consumer has the message in its hands.

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeEntry } from './checkout.js';
import { HttpExchange } from './http-exchange.js';
import { summarize } from './load/percentiles.js';
import { freePort, NodeProcess } from './node-process.js';
import { Scratch } from './scratch.js';

const UNLIMITED = '1000000000';
const WORKERS = 16;
const CALL = 250;
const PER_SECOND = 5000;
const PARTITIONS = 100;
const CONSUMERS = 4;
const HOUR_MS = 3_600_000;
/** From the first schedule of what comes due to the first that is. */
const LEAD_MS = 5000;
const MIB = 1024 * 1024;
/** 256 bytes of JSON. */
const PAYLOAD = Buffer.from(JSON.stringify({ text: 'x'.repeat(245) })).toString('base64');

export interface TimersDueOptions {
  readonly pending: number;
  readonly seconds: number;
  readonly entry: string | undefined;
}

export async function runTimersDueBench(options: TimersDueOptions): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  try {
    const directory = scratch.directory('timers-due');
    const node = new NodeProcess(
      {
        entry: nodeEntry(options.entry),
        port: await freePort(),
        dataDirectory: join(directory, 'node'),
        logFile: join(directory, 'node.log'),
        runtimeArguments: [],
        environment: { SVC_KV_WRITE_RATE: UNLIMITED, SVC_KV_WRITE_BURST: UNLIMITED },
      },
      scratch,
    );
    await node.start();
    await measure(node, options);
    await node.stop();
  } finally {
    scratch.close();
  }
}

async function measure(node: NodeProcess, { pending, seconds }: TimersDueOptions): Promise<void> {
  const before = node.memory().anonymousBytes;
  const startedMs = performance.now();
  await inParallel(node, Math.ceil(pending / CALL), (http, call) =>
    schedule(
      http,
      Array.from({ length: CALL }, (_, i) => waiting(call * CALL + i)),
    ),
  );
  const tookMs = performance.now() - startedMs;
  say(`${pending} timers scheduled in ${(tookMs / 1000).toFixed(1)} s`);
  const due = new Map<string, number>();
  const consumers = new Consumers(node, due, PER_SECOND * seconds);
  const baseMs = Date.now() + LEAD_MS;
  await inParallel(node, (PER_SECOND * seconds) / CALL, async (http, call) => {
    const first = call * CALL;
    const ops = Array.from({ length: CALL }, (_, i) => soon(first + i, baseMs - Date.now()));
    const results = await schedule(http, ops);
    for (const { txn, deliverAt } of results) due.set(txn, microsOf(deliverAt));
  });
  if (Date.now() > baseMs) say('scheduling took too long: the first timers were late on arrival');
  await consumers.run(seconds * 1000 + LEAD_MS + 30_000);
  const { anonymousBytes, residentBytes } = node.memory();
  const ms = (values: number[]) => {
    const { p50Ms, p99Ms, maxMs } = summarize(Float64Array.from(values));
    return `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, max ${maxMs.toFixed(1)} ms`;
  };
  say(`${consumers.firedMs.length} fired at ${PER_SECOND} a second (target: within 100 ms)`);
  say(`message stamped after its instant: ${ms(consumers.firedMs)}`);
  say(`in a consumer's hands: ${ms(consumers.seenMs)}`);
  const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;
  say(`memory: ${mib(residentBytes)}, not backed by files ${mib(anonymousBytes)}`);
  say(`of that before the first timer: ${mib(before)}`);
}

function waiting(n: number): object {
  const named = { op: 'schedule', queue: 'waiting', timerKey: `key-${n}`, txn: `txn-${n}` };
  return { ...named, delayMs: HOUR_MS + n, payload: PAYLOAD };
}

/** The `n`th of those that come due, counted from when the first of them is. */
function soon(n: number, untilFirstMs: number): object {
  const named = { op: 'schedule', queue: 'due', timerKey: `key-${n}`, txn: `due-${n}` };
  const delayMs = untilFirstMs + (n * 1000) / PER_SECOND;
  return { ...named, partition: `p${n % PARTITIONS}`, delayMs, payload: PAYLOAD };
}

interface Scheduled {
  readonly txn: string;
  readonly deliverAt: string;
}

async function schedule(http: HttpExchange, ops: readonly object[]): Promise<Scheduled[]> {
  const { status, body } = await http.request('POST', '/api/v1/timers', JSON.stringify(ops));
  if (status !== 200) throw new Error(`answer ${status}: ${body.toString('utf8', 0, 300)}`);
  return (JSON.parse(body.toString()) as { results: Scheduled[] }).results;
}

/** Pop until all has come, or the time is over. */
class Consumers {
  readonly #node: NodeProcess;
  readonly #due: ReadonlyMap<string, number>;
  readonly #count: number;
  readonly firedMs: number[] = [];
  readonly seenMs: number[] = [];

  constructor(node: NodeProcess, due: ReadonlyMap<string, number>, count: number) {
    this.#node = node;
    this.#due = due;
    this.#count = count;
  }

  async run(limitMs: number): Promise<void> {
    const untilMs = Date.now() + limitMs;
    await Promise.all(Array.from({ length: CONSUMERS }, () => this.#consume(untilMs)));
  }

  async #consume(untilMs: number): Promise<void> {
    const http = new HttpExchange(this.#node.address);
    const path =
      '/api/v1/pop/queue/due?wait=true&timeout=1000&batch=1000&partitions=64&autoAck=true';
    while (this.firedMs.length < this.#count && Date.now() < untilMs) {
      const { status, body } = await http.request('GET', path);
      const seenUs = Date.now() * 1000;
      if (status === 204) continue;
      if (status !== 200) throw new Error(`pop ${status}: ${body.toString('utf8', 0, 300)}`);
      this.#take(body, seenUs);
    }
    http.close();
  }

  #take(body: Buffer, seenUs: number): void {
    const { messages } = JSON.parse(body.toString()) as {
      messages: { transactionId: string; createdAt: string }[];
    };
    for (const { transactionId, createdAt } of messages) {
      const dueUs = this.#due.get(transactionId);
      if (dueUs === undefined) throw new Error(`${transactionId} was not scheduled`);
      this.firedMs.push((microsOf(createdAt) - dueUs) / 1000);
      this.seenMs.push((seenUs - dueUs) / 1000);
    }
  }
}

async function inParallel(
  node: NodeProcess,
  count: number,
  work: (http: HttpExchange, i: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    const http = new HttpExchange(node.address);
    for (let i = next++; i < count; i = next++) await work(http, i);
    http.close();
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  // The last answers are out; the checkpoint may still be busy.
  await sleep(100);
}

function microsOf(stamp: string): number {
  return Date.parse(`${stamp.slice(0, 23)}Z`) * 1000 + Number(stamp.slice(23, 26));
}

function say(line: string): void {
  process.stdout.write(`timers-due: ${line}\n`);
}
