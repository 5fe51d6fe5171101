// The native load program (load.c) as this process sees it: compiled once, started with a load,
// told when it has a turn. It prints a line of JSON for each turn and leaves the server alone in
// between, so several systems can have turns beside each other.

import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { checkoutRoot } from '../rig/checkout.js';
import type { Scratch } from '../rig/scratch.js';
import { compile } from './compile.js';

export type Protocol = 'http' | 'redis' | 'nats' | 'amqp' | 'postgres';

/** The system that the load program speaks to. */
export interface LoadTarget {
  readonly protocol: Protocol;
  /** An IPv4 address; undefined: 127.0.0.1. */
  readonly host?: string;
  /** Connection i uses the port i modulo their number. */
  readonly ports: readonly number[];
  /** The bearer token of HTTP; undefined: none. */
  readonly token?: string;
  /** The name of the queue: small letters and digits. */
  readonly queue: string;
  /** The kind of the queue, where a protocol has several; for HTTP see http.c. */
  readonly kind: string;
}

export interface Load extends LoadTarget {
  readonly work: 'publish' | 'consume';
  /** Payloads; for HTTP whole requests, each with `batch` messages. Sent in turn. */
  readonly items: readonly Uint8Array[];
  readonly connections: number;
  /** How many of the connections consume; undefined: half of them, where that is the work. */
  readonly consumers?: number;
  readonly batch: number;
  /** Publishes a second of an open loop; undefined: closed loop. */
  readonly ratePerSecond?: number;
}

export interface TurnPlan {
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

export interface LatencySummary {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** What happened in a turn. */
export interface TurnResult {
  readonly messages: number;
  readonly seconds: number;
  /** From the beginning of the warm-up until the server had nothing left to do. */
  readonly whole: { readonly messages: number; readonly processorSeconds: number };
  /** From the moment a publish was due to leave until all of it was acknowledged. */
  readonly latency: LatencySummary;
  /** From the moment a publish was due to the moment it left; all 0 in a closed loop. */
  readonly lateness: LatencySummary;
  /** From then until a consumer had it; all 0 unless payloads are numbered in an open loop. */
  readonly delivery: LatencySummary;
}

/** Item files at a time: more loads than that are never open. */
const LOADS_MAX = 16;
/** Beyond the planned time: connecting, and answers that come late. */
const EXTRA_MS = 60_000;

export class LoadProgram {
  readonly #scratch: Scratch;
  readonly #directory: string;
  #loads = 0;

  private constructor(scratch: Scratch, directory: string) {
    this.#scratch = scratch;
    this.#directory = directory;
  }

  static readonly #compiled = new WeakMap<Scratch, LoadProgram>();

  /** Compiled into a directory of `scratch`, once; throws with what the compiler said. */
  static in(scratch: Scratch): LoadProgram {
    const known = LoadProgram.#compiled.get(scratch) ?? LoadProgram.#compile(scratch);
    LoadProgram.#compiled.set(scratch, known);
    return known;
  }

  static #compile(scratch: Scratch): LoadProgram {
    const folder = join(checkoutRoot(), 'bench', 'native');
    const sources = readdirSync(folder).filter((name) => name.endsWith('.c'));
    const directory = scratch.directory('native');
    compile(
      join(directory, 'load'),
      sources.map((name) => join(folder, name)),
    );
    return new LoadProgram(scratch, directory);
  }

  /** Makes the queue of the target, or removes it with all its messages. */
  async administer(work: 'create' | 'remove', target: LoadTarget): Promise<void> {
    const words = [target.protocol, work, ...targetArguments(target)];
    await this.#start(target, work, words).close();
  }

  /** Starts a load; resolves when all its connections stand. */
  async open(load: Load): Promise<RunningLoad> {
    this.#loads += 1;
    const items = join(this.#directory, `items-${this.#loads % LOADS_MAX}`);
    writeFileSync(
      items,
      Buffer.concat(load.items.flatMap((item) => [Buffer.from(`${item.length}\n`), item])),
    );
    const { protocol, work, connections, consumers, batch, ratePerSecond } = load;
    const numbers = { connections, consumers, batch, rate: ratePerSecond };
    const words = [protocol, work, ...targetArguments(load), '--items', items];
    for (const [name, value] of Object.entries(numbers)) {
      if (value !== undefined) words.push(`--${name}`, `${value}`);
    }
    const running = this.#start(load, work, words);
    await running.lineWith('ready', EXTRA_MS);
    return running;
  }

  /** A load of one turn. */
  async run(load: Load, plan: TurnPlan): Promise<TurnResult> {
    const running = await this.open(load);
    const result = await running.turn(plan);
    await running.close();
    return result;
  }

  #start({ protocol, token }: LoadTarget, work: string, words: readonly string[]): RunningLoad {
    const environment = token === undefined ? {} : { LOAD_TOKEN: token };
    const child = spawn(join(this.#directory, 'load'), words, {
      env: { ...process.env, ...environment },
    });
    this.#scratch.adopt(child);
    const running = new RunningLoad(child.stdin, () => child.kill('SIGKILL'));
    let complaint = '';
    let rest = '';
    // Writing to one that has ended is told by its end.
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) running.onLine(line);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      complaint += chunk;
    });
    child.once('error', (error) => running.onEnd(error));
    child.once('close', (code, signal) => {
      const reason = complaint.trim() || `ended by ${code ?? signal}`;
      running.onEnd(
        code === 0 ? null : new LoadProgramError(`load ${protocol} ${work}: ${reason}`),
      );
    });
    return running;
  }
}

/** The load program ended early; the message is what it said. */
export class LoadProgramError extends Error {
  readonly code = 'load_program';
}

export class RunningLoad {
  readonly #input: Writable;
  readonly #kill: () => void;
  readonly #ended: Promise<void>;
  #resolveEnd: () => void = () => undefined;
  #rejectEnd: (error: Error) => void = () => undefined;
  #took: (line: string) => void = () => undefined;

  constructor(input: Writable, kill: () => void) {
    this.#input = input;
    this.#kill = kill;
    this.#ended = new Promise((resolve, reject) => {
      this.#resolveEnd = resolve;
      this.#rejectEnd = reject;
    });
    // Told by whatever is awaited next.
    this.#ended.catch(() => undefined);
  }

  /** Runs the load for so long, and until the last of it is done. */
  async turn({ warmUpSeconds, seconds }: TurnPlan): Promise<TurnResult> {
    this.#input.write(`${warmUpSeconds} ${seconds}\n`);
    const timeoutMs = (warmUpSeconds + seconds) * 1000 + EXTRA_MS;
    return JSON.parse(await this.lineWith('{', timeoutMs)) as TurnResult;
  }

  async close(): Promise<void> {
    this.#input.end();
    await this.#ended;
  }

  async lineWith(beginning: string, timeoutMs: number): Promise<string> {
    const timer = setTimeout(this.#kill, timeoutMs);
    const line = new Promise<string>((resolve) => {
      this.#took = (one) => {
        if (one.startsWith(beginning)) resolve(one);
      };
    });
    const ended = this.#ended.then((): never => {
      throw new LoadProgramError(`the load program ended before its line ${beginning}`);
    });
    try {
      return await Promise.race([line, ended]);
    } finally {
      clearTimeout(timer);
    }
  }

  onLine(line: string): void {
    this.#took(line);
  }

  onEnd(error: Error | null): void {
    if (error === null) this.#resolveEnd();
    else this.#rejectEnd(error);
  }
}

function targetArguments({ host, ports, queue, kind }: LoadTarget): readonly string[] {
  const words = ['--port', ports.join(','), '--name', queue, '--kind', kind];
  return host === undefined ? words : [...words, '--host', host];
}
