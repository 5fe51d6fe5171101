// Runs the same work on ours and on its peers, and reports it. All systems of one number of nodes
// stand ready at the same time; two of them, ours and another, get one load in short turns
// (pair.ts).
//
// A round is such a pair under one load. All loads get their rounds first, one round of all of them
// after the other, so that what disturbs the machine for a minute meets no load twice. The time
// that is left goes to the pairs whose ratios are the least certain (settling.ts), one more each,
// in turn as well.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkoutRoot } from '../checkout.js';
import { diskSyncMs } from '../load/disk-probe.js';
import { payloadTexts, pushRequests } from '../load/push-requests.js';
import { describeMachine, formatNumber } from '../load/report.js';
import { keepableMib, keepMemory } from '../memory/keep-memory.js';
import { type Load, LoadProgram } from '../native/load-program.js';
import type { LoadTurns } from '../native/load-turns.js';
import { Scratch } from '../scratch.js';
import { comparisons, measurementOf } from './compare.js';
import { latencyVerdicts } from './goals.js';
import { LeftOut } from './left-out.js';
import type { AgainstOptions } from './options.js';
import { renderPage } from './page.js';
import { measurePair, type RoundOfOne, type Side } from './pair.js';
import { startNats } from './peers/nats.js';
import { startOurs } from './peers/ours.js';
import { startPostgres } from './peers/postgres.js';
import { startRabbitmq } from './peers/rabbitmq.js';
import { startRedis } from './peers/redis.js';
import { QUEUE, type RunningSystem, type SystemPlan } from './peers/system.js';
import { processorSeconds } from './processor-time.js';
import { requirePeers } from './requirements.js';
import type { AgainstResult, Contender, Measurement, Round } from './result.js';
import {
  type Cell,
  cells,
  type Entrant,
  entrants,
  leastMs,
  roundsOf,
  secondsOf,
  WARM_UP,
  warmUpWorks,
} from './schedule.js';
import { unsettled } from './settling.js';
import { renderTables } from './table.js';

/** All systems of one number of nodes, and what they did so far: of each load, of each system. */
interface Phase {
  readonly nodes: number;
  readonly systems: readonly RunningSystem[];
  readonly cells: readonly Cell[];
  readonly tallies: readonly (readonly Round[][])[];
}

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
  #keptMemoryMib = 0;
  readonly #contenders: Contender[] = [];
  readonly #measurements: Measurement[] = [];
  readonly #leftOut = new LeftOut();
  readonly #beganMs = performance.now();

  constructor(options: AgainstOptions, scratch: Scratch) {
    this.#options = options;
    this.#scratch = scratch;
    this.#load = LoadProgram.in(scratch);
    this.#diskSyncMs = diskSyncMs(scratch).medianMs;
  }

  async measure(): Promise<void> {
    const { nodes: all, minutes } = this.#options;
    const leastMinutes = Math.ceil(leastMsOfAll(this.#options, all) / 60_000);
    const spare = minutes > leastMinutes;
    this.#say(
      `about ${leastMinutes} min` +
        `${spare ? `; until minute ${minutes}, more rounds where ratios are least certain` : ''}`,
    );
    await this.#keepMemory();
    for (const [index, nodes] of all.entries()) {
      const systems: RunningSystem[] = [];
      try {
        for (const entrant of entrants(this.#options, nodes)) {
          this.#say(`starting ${entrant.system}, ${entrant.setting}, ${textOfNodes(nodes)}`);
          systems.push(await this.#start(entrant, nodes));
        }
        this.#contenders.push(...systems.map((system) => system.contender));
        await this.#warmUp(systems);
        await this.#measurePhase(nodes, systems, all.slice(index + 1));
      } finally {
        for (const system of systems) await system.stop();
      }
    }
  }

  /** A machine that does not allow it is measured as it is. */
  async #keepMemory(): Promise<void> {
    const mebibytes = keepableMib();
    this.#say(`using ${formatNumber(mebibytes)} MiB of memory once, and keeping it from the host`);
    try {
      await keepMemory(this.#scratch, mebibytes);
      this.#keptMemoryMib = mebibytes;
    } catch (error) {
      this.#say(`not kept: ${error instanceof Error ? error.message : error}`);
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
      keptMemoryMib: this.#keptMemoryMib,
      contenders: this.#contenders,
      measurements: this.#measurements,
      comparisons: comparisons(this.#measurements),
      latencyVerdicts: latencyVerdicts(this.#measurements),
      leftOut: this.#leftOut.rounds,
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

  async #warmUp(systems: readonly RunningSystem[]): Promise<void> {
    const [payloadBytes = 0] = this.#options.payloads;
    this.#say('warming up');
    for (const system of systems) {
      for (const work of warmUpWorks(this.#options)) {
        await this.#measureAlone(system, { work, payloadBytes, batch: 1 }, WARM_UP);
      }
    }
  }

  async #measurePhase(
    nodes: number,
    systems: readonly RunningSystem[],
    later: readonly number[],
  ): Promise<void> {
    const loads = cells(this.#options);
    const tallies = loads.map(() => systems.map((): Round[] => []));
    const phase: Phase = { nodes, systems, cells: loads, tallies };
    try {
      const roundsMax = Math.max(...loads.map((cell) => roundsOf(cell, this.#options)));
      for (let round = 0; round < roundsMax; round += 1) {
        for (const [index, cell] of loads.entries()) {
          if (round >= roundsOf(cell, this.#options)) continue;
          await this.#measureRound(phase, index, [...systems.keys()].slice(1));
        }
      }
      await this.#settle(phase, this.#shareUntilMs(nodes, later));
    } finally {
      this.#keep(phase);
    }
  }

  /** Until when this number of nodes may use time that the later ones do not need. */
  #shareUntilMs(nodes: number, later: readonly number[]): number {
    const now = performance.now();
    const [ownMs, laterMs] = [leastMs(this.#options, nodes), leastMsOfAll(this.#options, later)];
    const freeMs = this.#beganMs + this.#options.minutes * 60_000 - laterMs - now;
    return now + (freeMs * ownMs) / (ownMs + laterMs);
  }

  /**
   * Round after round of all pairs that need one, and not one pair to its end: what the disk does
   * for others, and what it has to tidy up, lasts for minutes, and rounds one after the other would
   * agree on it.
   */
  async #settle(phase: Phase, untilMs: number): Promise<void> {
    // A latency at a given rate has no ratio of rates.
    const tallies = phase.tallies.map((tally, index) =>
      phase.cells[index]?.work === 'latency' ? [] : tally,
    );
    for (;;) {
      const next = unsettled(tallies);
      if (next.length === 0) return;
      for (const load of new Set(next.map((pair) => pair.load))) {
        if (performance.now() >= untilMs) return;
        const places = next.filter((pair) => pair.load === load).map(({ place }) => place);
        await this.#measureRound(phase, load, places);
      }
    }
  }

  /** One more round of one load for the systems at these places, each with ours. */
  async #measureRound(phase: Phase, index: number, places: readonly number[]): Promise<void> {
    const [ours, ...others] = phase.systems;
    const cell = phase.cells[index];
    const tally = phase.tallies[index] ?? [];
    if (ours === undefined || cell === undefined) throw new Error(`there is no load ${index}`);
    const texts: string[] = [];
    if (cell.work === 'latency' || others.length === 0) {
      const number = tally[0]?.length ?? 0;
      for (const [place, system] of phase.systems.entries()) {
        const measured = await this.#measureAlone(system, cell);
        tally[place]?.push({ number, ...measured });
        texts.push(`${nameOf(system)} ${rateOf(measured)}`);
      }
    } else {
      for (const place of places) {
        const other = others[place - 1];
        if (other === undefined) throw new Error(`there is no system ${place}`);
        try {
          const [own, measured] = await this.#measurePair(ours, other, cell);
          const number = tally[0]?.length ?? 0;
          tally[0]?.push({ number, ...own });
          tally[place]?.push({ number, ...measured });
          texts.push(`${nameOf(other)} ${rateOf(own)} to ${rateOf(measured)}`);
        } catch (error) {
          // Its work, again, for the type: a latency does not come here.
          const load = { ...cell, work: cell.work };
          const { reason } = this.#leftOut.add(other.contender, load, error);
          texts.push(`${nameOf(other)} left out (${reason})`);
        }
      }
    }
    const minutes = ((performance.now() - this.#beganMs) / 60_000).toFixed(1);
    this.#say(
      `minute ${minutes}, ${textOfNodes(phase.nodes)}, ` +
        `${cell.work} ${cell.payloadBytes} B x ${cell.batch}: ${texts.join(', ')}`,
    );
  }

  #keep({ systems, cells: loads, tallies }: Phase): void {
    for (const [index, cell] of loads.entries()) {
      for (const [place, { contender }] of systems.entries()) {
        const rounds = tallies[index]?.[place] ?? [];
        if (rounds.length === 0) continue;
        const { system, setting, nodes } = contender;
        this.#measurements.push(measurementOf({ system, setting, nodes, ...cell }, rounds));
      }
    }
  }

  async #measurePair(
    ours: RunningSystem,
    other: RunningSystem,
    cell: Cell,
  ): Promise<readonly [RoundOfOne, RoundOfOne]> {
    const opened: LoadTurns[] = [];
    const connect = async (system: RunningSystem): Promise<Side> => {
      await system.create();
      const turns = await this.#load.open(this.#loadOn(system, cell));
      opened.push(turns);
      return { turns, pids: system.pids };
    };
    try {
      const sides = [await connect(ours), await connect(other)] as const;
      const rounds = await measurePair(sides, {
        warmUpSeconds: this.#options.warmUpMs / 1000,
        seconds: secondsOf(cell, this.#options),
      });
      for (const turns of opened) await turns.close();
      return rounds;
    } catch (error) {
      // What ended first is told; the other program has to end as well.
      await Promise.allSettled(opened.map((turns) => turns.close()));
      throw error;
    } finally {
      for (const system of [ours, other]) await system.remove();
    }
  }

  /** In one piece: a latency, a system that is alone, and what is not measured. */
  async #measureAlone(
    system: RunningSystem,
    cell: Cell,
    { seconds, warmUpMs }: { readonly seconds: number; readonly warmUpMs: number } = {
      seconds: secondsOf(cell, this.#options),
      warmUpMs: this.#options.warmUpMs,
    },
  ): Promise<RoundOfOne> {
    const used = { begin: 0, end: 0 };
    await system.create();
    const result = await this.#load.run({
      ...this.#loadOn(system, cell),
      seconds,
      warmUpSeconds: warmUpMs / 1000,
      ratePerSecond: cell.work === 'latency' ? this.#options.ratePerSecond : null,
      atEdge: (edge) => {
        used[edge] = processorSeconds(system.pids);
      },
    });
    await system.remove();
    const perMessage = 1e6 / result.messages;
    return {
      turns: 1,
      messages: result.messages,
      seconds: result.seconds,
      messagesPerSecond: result.messages / result.seconds,
      latency: result.latency,
      loadMicrosecondsPerMessage: result.processorSeconds * perMessage,
      serverMicrosecondsPerMessage: (used.end - used.begin) * perMessage,
    };
  }

  #loadOn({ target }: RunningSystem, { work, payloadBytes, batch }: Cell): Load {
    const { connections, partitions } = this.#options;
    return {
      ...target,
      work: work === 'latency' ? 'publish' : work,
      items:
        target.protocol === 'http'
          ? pushRequests(QUEUE, partitions, batch, payloadBytes)
          : payloadTexts(100, payloadBytes).map((text) => Buffer.from(text)),
      connections,
      batch,
    };
  }

  /** On standard error: standard output is for the results. */
  #say(line: string): void {
    process.stderr.write(`${line}\n`);
  }
}

function leastMsOfAll(options: AgainstOptions, all: readonly number[]): number {
  return all.reduce((sum, nodes) => sum + leastMs(options, nodes), 0);
}

function textOfNodes(nodes: number): string {
  return nodes === 1 ? 'one node' : `${nodes} nodes`;
}

function nameOf({ contender: { system, setting } }: RunningSystem): string {
  return system === 'ours' ? system : `${system} ${setting}`;
}

function rateOf({ messagesPerSecond }: RoundOfOne): string {
  return formatNumber(Math.round(messagesPerSecond));
}
