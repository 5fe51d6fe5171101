// Runs the same work on ours and on its peers, in turn, and reports it. All systems of one number
// of nodes stand ready at the same time; one of them at a time is under load, and every window
// begins with an empty queue.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkoutRoot } from '../checkout.js';
import { diskSyncMs } from '../load/disk-probe.js';
import { payloadTexts, pushRequests } from '../load/push-requests.js';
import { describeMachine, formatNumber } from '../load/report.js';
import { LoadProgram } from '../native/load-program.js';
import { Scratch } from '../scratch.js';
import { comparisons, measurementOf } from './compare.js';
import { latencyVerdicts } from './goals.js';
import type { AgainstOptions } from './options.js';
import { renderPage } from './page.js';
import { startNats } from './peers/nats.js';
import { startOurs } from './peers/ours.js';
import { startPostgres } from './peers/postgres.js';
import { startRabbitmq } from './peers/rabbitmq.js';
import { startRedis } from './peers/redis.js';
import { QUEUE, type RunningSystem, type SystemPlan } from './peers/system.js';
import { processorSeconds } from './processor-time.js';
import { requirePeers } from './requirements.js';
import type { AgainstResult, Contender, Measurement, Round } from './result.js';
import { type Cell, cells, type Entrant, entrants, windowCount } from './schedule.js';
import { renderTables } from './table.js';

/** What a window takes beside its seconds: an empty queue before, its removal after. */
const AROUND_WINDOW_MS = 300;

/** Of each work, before the first window of a system. */
const WARM_UP = { seconds: 2, warmUpMs: 0 };

/** The table is printed and the files are written also after a failure, with what there is. */
export async function runAgainst(options: AgainstOptions): Promise<void> {
  requirePeers(options.peers);
  const scratch = new Scratch();
  scratch.endOnSignals();
  const run = new AgainstRun(options, scratch);
  try {
    await run.measure();
  } finally {
    scratch.close();
    run.report();
  }
}

class AgainstRun {
  readonly #options: AgainstOptions;
  readonly #scratch: Scratch;
  readonly #load: LoadProgram;
  readonly #startedAt = new Date();
  readonly #diskSyncMs: number;
  readonly #contenders: Contender[] = [];
  readonly #measurements: Measurement[] = [];
  #windowsLeft: number;

  constructor(options: AgainstOptions, scratch: Scratch) {
    this.#options = options;
    this.#scratch = scratch;
    this.#load = LoadProgram.in(scratch);
    this.#diskSyncMs = diskSyncMs(scratch).medianMs;
    this.#windowsLeft = windowCount(options);
  }

  async measure(): Promise<void> {
    for (const nodes of this.#options.nodes) {
      const systems: RunningSystem[] = [];
      try {
        for (const entrant of entrants(this.#options, nodes)) {
          this.#say(`starting ${entrant.system}, ${entrant.setting}, ${nodes} of them`);
          systems.push(await this.#start(entrant, nodes));
        }
        this.#contenders.push(...systems.map((system) => system.contender));
        await this.#warmUp(systems);
        for (const cell of cells(this.#options)) await this.#measureCell(systems, cell);
      } finally {
        for (const system of systems) await system.stop();
      }
    }
  }

  report(): void {
    const result = this.#result();
    const stamp = result.date.replaceAll(':', '-').slice(0, 19);
    const named = join(checkoutRoot(), 'bench', 'results', `against-${stamp}.json`);
    const file = this.#options.jsonFile ?? named;
    const page = `${file.replace(/\.json$/, '')}.html`;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
    writeFileSync(page, renderPage(result));
    process.stdout.write(`\n${renderTables(result)}\n\nwritten to ${file} and ${page}\n`);
  }

  #result(): AgainstResult {
    const { connections, partitions, rounds, seconds, ratePerSecond } = this.#options;
    return {
      program: 'bench --against',
      date: this.#startedAt.toISOString(),
      command: `npm run bench -- ${process.argv.slice(2).join(' ')}`,
      machine: describeMachine(),
      connections,
      partitions,
      rounds,
      secondsPerRound: seconds,
      ratePerSecond,
      diskSyncMs: this.#diskSyncMs,
      contenders: this.#contenders,
      measurements: this.#measurements,
      comparisons: comparisons(this.#measurements),
      latencyVerdicts: latencyVerdicts(this.#measurements),
    };
  }

  #start({ system, setting }: Entrant, nodes: number): Promise<RunningSystem> {
    const plan: SystemPlan = { scratch: this.#scratch, load: this.#load, setting, nodes };
    switch (system) {
      case 'ours':
        return startOurs(plan, this.#options.entry);
      case 'nats':
        return startNats(plan);
      case 'rabbitmq':
        return startRabbitmq(plan);
      case 'redis':
        return startRedis(plan);
      case 'postgres':
        return startPostgres(plan);
    }
  }

  /** Nobody measures a program that has just started, least of all one that compiles. */
  async #warmUp(systems: readonly RunningSystem[]): Promise<void> {
    const [payloadBytes = 0] = this.#options.payloads;
    for (const system of systems) {
      for (const work of ['publish', 'consume'] as const) {
        await this.#measureWindow(system, { work, payloadBytes, batch: 1 }, WARM_UP);
      }
    }
  }

  async #measureCell(systems: readonly RunningSystem[], cell: Cell): Promise<void> {
    const rounds: Round[][] = systems.map(() => []);
    for (let round = 0; round < this.#options.rounds; round += 1) {
      for (const [index, system] of systems.entries()) {
        const measured = await this.#measureWindow(system, cell);
        rounds[index]?.push(measured);
        this.#windowsLeft -= 1;
        this.#say(this.#progressText(system.contender, cell, measured));
      }
    }
    for (const [index, { contender }] of systems.entries()) {
      const { system, setting, nodes } = contender;
      const load = { system, setting, nodes, ...cell };
      this.#measurements.push(measurementOf(load, rounds[index] ?? []));
    }
  }

  async #measureWindow(
    system: RunningSystem,
    cell: Cell,
    { seconds, warmUpMs }: { readonly seconds: number; readonly warmUpMs: number } = this.#options,
  ): Promise<Round> {
    const { connections, partitions, ratePerSecond } = this.#options;
    const { payloadBytes, batch } = cell;
    const latency = cell.work === 'latency';
    const used = { begin: 0, end: 0 };
    await system.create();
    const result = await this.#load.run({
      ...system.target,
      work: latency ? 'publish' : cell.work,
      items:
        system.target.protocol === 'http'
          ? pushRequests(QUEUE, partitions, batch, payloadBytes)
          : payloadTexts(100, payloadBytes).map((text) => Buffer.from(text)),
      connections,
      batch,
      seconds,
      warmUpSeconds: warmUpMs / 1000,
      ratePerSecond: latency ? ratePerSecond : null,
      atEdge: (edge) => {
        used[edge] = processorSeconds(system.pids);
      },
    });
    await system.remove();
    const perMessage = 1e6 / result.messages;
    return {
      messages: result.messages,
      seconds: result.seconds,
      messagesPerSecond: result.messages / result.seconds,
      latency: result.latency,
      loadMicrosecondsPerMessage: result.processorSeconds * perMessage,
      serverMicrosecondsPerMessage: (used.end - used.begin) * perMessage,
    };
  }

  #progressText({ system, setting, nodes }: Contender, cell: Cell, round: Round): string {
    const { seconds, warmUpMs } = this.#options;
    const leftMs = this.#windowsLeft * (seconds * 1000 + warmUpMs + AROUND_WINDOW_MS);
    return (
      `${cell.work} ${cell.payloadBytes} B x ${cell.batch}, ${system} ${setting} of ${nodes}: ` +
      `${formatNumber(round.messagesPerSecond)} messages/s; ` +
      `about ${formatNumber(Math.ceil(leftMs / 60_000))} min left`
    );
  }

  /** On standard error: standard output is for the results. */
  #say(line: string): void {
    process.stderr.write(`${line}\n`);
  }
}
