/** The clients of all state surfaces together: workloads 3, 4, 5, 9, 10 and 11. */
import type { HttpClient } from '../process/http-client.js';
import { KvLoad } from './kv-load.js';
import type { Finding, LoadPart, LoadPartOptions } from './load-part.js';
import { LockLoad } from './lock-load.js';
import { PipelineLoad } from './pipeline-load.js';
import { StreamLoad } from './stream-load.js';
import { TimerLoad } from './timer-load.js';

type Make = (options: LoadPartOptions) => LoadPart;

const PARTS: readonly (readonly [name: string, make: Make])[] = [
  ['kv', (options) => new KvLoad(options)],
  ['pipe', (options) => new PipelineLoad(options)],
  ['timers', (options) => new TimerLoad(options)],
  ['locks', (options) => new LockLoad(options)],
  ['streams', (options) => new StreamLoad(options)],
];

export class SurfaceLoad {
  readonly #parts: readonly (readonly [name: string, part: LoadPart])[];

  constructor(options: LoadPartOptions) {
    this.#parts = PARTS.map(([name, make]) => {
      const random = options.random.fork();
      return [name, make({ ...options, random, name: `${options.name}.${name}` })];
    });
  }

  get queues(): readonly string[] {
    return this.#parts.flatMap(([, part]) => part.queues);
  }

  get summary(): string {
    return this.#parts.map(([name, { size }]) => `${size} of ${name}`).join(', ');
  }

  start(): void {
    for (const [, part] of this.#parts) part.start();
  }

  async finish(): Promise<void> {
    await Promise.all(this.#parts.map(([, part]) => part.finish()));
  }

  async abandon(): Promise<void> {
    await Promise.all(this.#parts.map(([, part]) => part.abandon()));
  }

  async judge(nodes: readonly HttpClient[]): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    for (const [name, part] of this.#parts) {
      for (const { kind, text } of await part.judge(nodes)) {
        findings.push({ kind: `${name} ${kind}`, text });
      }
    }
    return findings;
  }
}
