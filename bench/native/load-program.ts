// The native load program (load.c) as this process sees it: compiled once, run with a plan, its
// line of JSON read, or several where it has several turns. While it runs it tells when a
// measured window begins and ends, so that what the server used of the processors can be looked at
// then.

import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutRoot } from '../checkout.js';
import type { Scratch } from '../scratch.js';
import { compile } from './compile.js';
import { type LoadResult, readResult } from './load-result.js';
import { LoadTurns, type LoadWindow, type RunningLoad } from './load-turns.js';

export const PROTOCOLS = ['http', 'redis', 'nats', 'amqp', 'postgres'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Whom it speaks to. */
export interface LoadTarget {
  readonly protocol: Protocol;
  /** On this machine; connection i uses the port i modulo their number. */
  readonly ports: readonly number[];
  /** Of the queue: small letters and digits. */
  readonly queue: string;
  /** Of the queue, where a protocol has several; of HTTP what consumers do: see load.c. */
  readonly kind: string;
}

export interface Load extends LoadTarget {
  readonly work: 'publish' | 'consume';
  /** Payloads; of HTTP, the requests, each with `batch` messages. Sent in turn. */
  readonly items: readonly Uint8Array[];
  readonly connections: number;
  readonly batch: number;
}

export interface LoadPlan extends Load, LoadWindow {
  /** Publishes a second of an open loop; null: closed loop. */
  readonly ratePerSecond: number | null;
  /** Called when the measured window begins, and when it ends. */
  readonly atEdge: (edge: 'begin' | 'end') => void;
}

/** Of its command line. */
type Words = readonly [Protocol, string, ...(readonly string[])];

/** At a time. */
const RUNS_MAX = 8;
/** Beyond the planned time: connecting, and answers that come late. */
const EXTRA_MS = 60_000;
/** All turns of one load. */
const TURNS_MS_MAX = 600_000;

export class LoadProgram {
  readonly #scratch: Scratch;
  readonly #directory: string;
  #runs = 0;

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
    await this.#spawn([target.protocol, work, ...targetArguments(target)], EXTRA_MS, () => {});
  }

  /** One window. */
  async run(plan: LoadPlan): Promise<LoadResult> {
    const lines: string[] = [];
    const words = this.#wordsOf(plan, {
      seconds: plan.seconds,
      'warm-up': plan.warmUpSeconds,
      rate: plan.ratePerSecond ?? 0,
    });
    await this.#spawn(words, (plan.warmUpSeconds + plan.seconds) * 1000 + EXTRA_MS, (line) => {
      if (line === 'begin' || line === 'end') plan.atEdge(line);
      else lines.push(line);
    });
    return readResult(lines.join('\n'));
  }

  /** Connected, in a closed loop; turns follow, see LoadTurns. */
  async open(load: Load): Promise<LoadTurns> {
    const words = this.#wordsOf(load, { turns: 1 });
    const turns = new LoadTurns((took) => this.#begin(words, TURNS_MS_MAX, took));
    await turns.ready();
    return turns;
  }

  #wordsOf(load: Load, options: { readonly [name: string]: number }): Words {
    // Several may run at a time, each with items of its own.
    this.#runs += 1;
    const items = join(this.#directory, `items-${this.#runs % RUNS_MAX}`);
    writeFileSync(
      items,
      Buffer.concat(load.items.flatMap((item) => [Buffer.from(`${item.length}\n`), item])),
    );
    const { connections, batch } = load;
    return [
      load.protocol,
      load.work,
      ...[...targetArguments(load), '--items', items],
      ...Object.entries({ connections, batch, ...options }).flatMap(([name, value]) => [
        `--${name}`,
        `${value}`,
      ]),
    ];
  }

  async #spawn(words: Words, timeoutMs: number, took: (line: string) => void): Promise<void> {
    const { input, ended } = this.#begin(words, timeoutMs, took);
    input.end();
    await ended;
  }

  /** `took` gets each line that it prints as soon as it is there. */
  #begin(words: Words, timeoutMs: number, took: (line: string) => void): RunningLoad {
    const [protocol, work] = words;
    const child = spawn(join(this.#directory, 'load'), words);
    this.#scratch.adopt(child);
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    let complaint = '';
    let rest = '';
    // Writing to one that has ended is told by its end.
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) took(line);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      complaint += chunk;
    });
    const ended = new Promise<void>((resolve, reject) => {
      child.once('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      child.once('close', (code, signal) => {
        clearTimeout(timer);
        const reason = complaint.trim() || `ended by ${code ?? signal}`;
        if (code === 0) resolve();
        else reject(new LoadProgramError(protocol, work, reason));
      });
    });
    return { input: child.stdin, ended };
  }
}

/** The load program ended early; the message is what it said. */
export class LoadProgramError extends Error {
  readonly code = 'load_program';

  constructor(
    readonly protocol: Protocol,
    work: string,
    complaint: string,
  ) {
    super(`load ${protocol} ${work}: ${complaint}`);
  }
}

function targetArguments({ ports, queue, kind }: LoadTarget): readonly string[] {
  return ['--port', ports.join(','), '--name', queue, '--kind', kind];
}
