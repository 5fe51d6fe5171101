// One attack against one node or cluster, from the first start of a process to the figures.
//
// The order is what makes the figures mean something. Idle memory is taken beside the honest client
// and before the node is filled. While it is filled nothing is measured. Then the honest client
// runs for a moment again, the clocks are set to zero, the attack runs, and a time of recovery
// after it counts as well: many attacks hurt when they leave. A quiet scenario has no honest client
// until that recovery.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Scratch } from '../rig/scratch.js';
import type { Report } from './attack-messages.js';
import { AttackProcess } from './attack-process.js';
import { HealthProbe } from './health-probe.js';
import { HonestClient } from './honest-client.js';
import type { Measured } from './judgement.js';
import { Lateness } from './lateness.js';
import type { Against, Scenario } from './scenario.js';
import { longer, Stopwatch } from './stopwatch.js';
import { type Office, Subject } from './subject.js';

const WARM_UP_MS = 2000;
const SETTLE_MS = 1000;
const RECOVERY_MS = 4000;
const FILL_MS_MAX = 300_000;
/** An attack that waits for an answer may need longer than its time. */
const ATTACK_GRACE_MS = 90_000;

export interface RunPlan {
  readonly scenario: Scenario;
  readonly against: Against;
  readonly seconds: number;
  readonly entry: string;
  readonly build: string;
  readonly runtimeArguments: readonly string[];
}

interface Attacked {
  readonly report: Extract<Report, { readonly kind: 'attacked' }> | null;
  readonly failure: string | null;
}

export class Runner {
  readonly #scratch: Scratch;
  readonly #plan: RunPlan;
  readonly #say: (line: string) => void;

  constructor(scratch: Scratch, plan: RunPlan, say: (line: string) => void) {
    this.#scratch = scratch;
    this.#plan = plan;
    this.#say = say;
  }

  async run(): Promise<Measured> {
    const subject = await Subject.start(this.#scratch, this.#plan);
    const attacker = new AttackProcess(this.#scratch, (line) => this.#say(`  ${line}`));
    const lateness = new Lateness();
    const probes = subject.nodes.map(({ address, pid }) => new HealthProbe(address, pid));
    let honest: HonestClient | null = null;
    try {
      const idle = await this.#warmUp(subject);
      const office = await this.#fill(subject, attacker);
      const filled = subject.residentBytes();
      honest = new HonestClient(subject.addresses(), leaderStopwatch(subject, office));
      if (this.#plan.scenario.isQuiet !== true) {
        honest.start();
        await sleep(SETTLE_MS);
      }
      honest.measure();
      subject.restartPeaks();
      lateness.take();
      for (const probe of probes) probe.restart();
      const stopwatch = leaderStopwatch(subject, office);
      const attacked = await this.#attack(subject, attacker, office);
      if (this.#plan.scenario.isQuiet === true) honest.start();
      await sleep(RECOVERY_MS);
      await honest.stop();
      const after = await subject.office();
      const grown = worstNode(idle, filled, subject.peakBytes());
      const ended = subject.ended();
      const processorShare = stopwatch.processorShare();
      if (this.#plan.runtimeArguments.length > 0) await subject.stop();
      return {
        scenario: this.#plan.scenario.name,
        against: this.#plan.against,
        kind: this.#plan.scenario.kind,
        date: new Date().toISOString(),
        build: this.#plan.build,
        seconds: this.#plan.seconds,
        honest: honest.figures(),
        healthKept: probes.map((probe) => probe.kept.longest()).reduce(longer),
        healthFresh: probes.map((probe) => probe.fresh.longest()).reduce(longer),
        ...grown,
        termBefore: office.term,
        termAfter: after.term,
        leaderStays: after.leader === office.leader,
        ended,
        ownLatenessMs: lateness.take(),
        processorShare,
        outcomes: attacked.report?.outcomes ?? [],
        checks: attacked.report?.checks ?? [],
        failure: attacked.failure,
      };
    } finally {
      attacker.end();
      lateness.end();
      honest?.close();
      for (const probe of probes) probe.end();
      await subject.end();
    }
  }

  /** Memory of each node beside an honest client and nobody else. */
  async #warmUp(subject: Subject): Promise<readonly number[]> {
    const stopwatch = leaderStopwatch(subject, await subject.office());
    const honest = new HonestClient(subject.addresses(), stopwatch);
    honest.start();
    await sleep(WARM_UP_MS);
    const idle = subject.residentBytes();
    await honest.stop();
    honest.close();
    return idle;
  }

  async #fill(subject: Subject, attacker: AttackProcess): Promise<Office> {
    const { scenario, seconds } = this.#plan;
    if (scenario.fill !== undefined) {
      this.#say('  filling');
      const nodes = await addresses(subject);
      const order = { kind: 'fill', scenario: scenario.name, nodes, seconds } as const;
      await attacker.order(order, FILL_MS_MAX);
      await sleep(SETTLE_MS);
    }
    return subject.office();
  }

  async #attack(subject: Subject, attacker: AttackProcess, { leader }: Office): Promise<Attacked> {
    const { scenario, seconds } = this.#plan;
    this.#say(`  attacking for ${seconds} s`);
    const nodes = leaderFirst(subject, leader);
    const order = { kind: 'attack', scenario: scenario.name, nodes, seconds } as const;
    try {
      const report = await attacker.order(order, seconds * 1000 + ATTACK_GRACE_MS);
      return { report: report.kind === 'attacked' ? report : null, failure: null };
    } catch (error) {
      return { report: null, failure: error instanceof Error ? error.message : String(error) };
    } finally {
      attacker.end();
    }
  }
}

function leaderStopwatch({ nodes }: Subject, { leader }: Office): Stopwatch {
  const node = nodes[Math.max(0, leader)];
  if (node === undefined) throw new Error('there is no node to time');
  return new Stopwatch(node.pid);
}

async function addresses(subject: Subject): Promise<ReturnType<typeof leaderFirst>> {
  const { leader } = await subject.office();
  return leaderFirst(subject, leader);
}

function leaderFirst(subject: Subject, leader: number): ReturnType<Subject['addresses']> {
  const all = subject.addresses();
  return [...all.slice(Math.max(0, leader)), ...all.slice(0, Math.max(0, leader))];
}

/** The memory of the node that grew most. */
function worstNode(
  idle: readonly number[],
  filled: readonly number[],
  peaks: readonly number[],
): Pick<Measured, 'idleBytes' | 'filledBytes' | 'peakBytes'> {
  let worst = 0;
  const growth = (index: number) => (peaks[index] ?? 0) - (idle[index] ?? 0);
  for (const index of peaks.keys()) if (growth(index) > growth(worst)) worst = index;
  return {
    idleBytes: idle[worst] ?? 0,
    filledBytes: filled[worst] ?? 0,
    peakBytes: peaks[worst] ?? 0,
  };
}
