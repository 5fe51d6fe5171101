// A node of its own for a measurement of growth, and clients that do one kind of work side by side.

import { join } from 'node:path';
import { nodeEntry } from '../checkout.js';
import { type Answer, HttpExchange } from '../http-exchange.js';
import { freePort, NodeProcess } from '../node-process.js';
import type { Scratch } from '../scratch.js';

const CLIENTS = 16;

/** What one client does again and again; false: there is no more to do. */
export type Work = (ask: Ask, client: number) => Promise<boolean>;
export interface Worked {
  readonly perSecond: number;
  /** Of the node, for one round of one client. */
  readonly processorUs: number;
}
export type Ask = (method: string, path: string, body?: string) => Promise<Answer>;

export class ScaleNode {
  readonly process: NodeProcess;

  private constructor(process: NodeProcess) {
    this.process = process;
  }

  /** Started, on an empty directory, or on one that is filled. */
  static async start(
    scratch: Scratch,
    entry: string | undefined,
    filled?: string,
  ): Promise<ScaleNode> {
    const directory = scratch.directory('bench-scale');
    const plan = {
      entry: nodeEntry(entry),
      port: await freePort(),
      dataDirectory: filled ?? join(directory, 'node'),
      logFile: join(directory, 'node.log'),
      runtimeArguments: [],
      environment: { SVC_RAFT_DISK_HIGH_PCT: '99', SVC_RAFT_DISK_LOW_PCT: '98' },
    };
    const node = new ScaleNode(new NodeProcess(plan, scratch));
    await node.process.start();
    return node;
  }

  /** Bytes of the process that are backed by no file; a file that is mapped is no memory needed. */
  anonymousBytes(): number {
    return this.process.memory().anonymousBytes;
  }

  /** Until no client has more to do, or so many milliseconds. */
  async work(one: Work, ms = Number.POSITIVE_INFINITY): Promise<Worked> {
    const beganMs = performance.now();
    const beganSeconds = this.process.processorSeconds();
    let rounds = 0;
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      const exchange = new HttpExchange(this.process.address);
      const ask: Ask = async (method, path, body) => {
        const answer = await exchange.request(method, path, body, 120_000);
        if (answer.status < 300) return answer;
        throw new Error(`${method} ${path}: ${answer.status} ${answer.body.toString('utf8')}`);
      };
      while (performance.now() - beganMs < ms && (await one(ask, client))) rounds += 1;
      exchange.close();
    });
    await Promise.all(clients);
    const usedSeconds = this.process.processorSeconds() - beganSeconds;
    return {
      perSecond: (rounds * 1000) / (performance.now() - beganMs),
      processorUs: (usedSeconds * 1e6) / rounds,
    };
  }
}
