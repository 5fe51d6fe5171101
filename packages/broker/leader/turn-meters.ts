/**
 * Times the turns of the leader's loop: what each stage takes, from a command's arrival to the
 * application of its entry (inspection 9, pipeline timing).
 *
 * It stands on the path of every command: one reading of the clock when it arrives and one when it
 * was planned (some 50 ns each), and additions. Pops are left out where a stage would show how long
 * they were parked.
 */
import type { Answer, Command, Turnover } from '@svc/engine';
import { type CommandMeters, commandMeters, type PipelineMeters } from '@svc/wire';
import type { Clock } from '../system/clock.js';
import type { Request } from './leader.js';

const US_PER_MS = 1000;

export class TurnMeters {
  readonly #pipeline: PipelineMeters;
  readonly #clock: Clock;
  /** SVC_RAFT_SLOW_COMMAND_MS. */
  readonly #slowMs: number;
  /** When the turn under way began, and when its last command was planned. */
  #beganMs = 0;
  #lastMs = 0;
  /** Its entry has its place, which is the last thing in it that takes time. */
  #isProposed = false;
  #settled = { wakes: 0, loaded: 0, unloaded: 0 };

  constructor(pipeline: PipelineMeters, clock: Clock, slowMs: number) {
    this.#pipeline = pipeline;
    this.#clock = clock;
    this.#slowMs = slowMs;
  }

  arrived(request: Request): void {
    request.arrivedMs = this.#clock.nowMs();
  }

  began(nowMs: number): void {
    this.#beganMs = nowMs;
    this.#lastMs = nowMs;
    this.#isProposed = false;
  }

  /** A command of this turn was planned. */
  planned(kind: Command['kind']): void {
    const nowMs = this.#clock.nowMs();
    const tookMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    const meters: CommandMeters = commandMeters(this.#pipeline, kind);
    meters.planned++;
    if (tookMs >= this.#slowMs) meters.slow++;
    meters.tookUs.record(tookMs * US_PER_MS);
  }

  /** The turn is planned; `waiting` commands are left for the next. */
  ended(answers: readonly Answer[], waiting: number): void {
    const { plan, drainCommands, drainMessages, planDeferred, queueWait } = this.#pipeline;
    const nowMs = this.#clock.nowMs();
    plan.record((nowMs - this.#beganMs) * US_PER_MS);
    if (answers.length === 0) return;
    let messages = 0;
    for (const { ticket } of answers) {
      const { command, arrivedMs = this.#beganMs } = ticket as Request;
      if (command.kind === 'pop') continue;
      messages += pushedMessages(command);
      queueWait.record(Math.max(0, this.#beganMs - arrivedMs) * US_PER_MS);
    }
    drainCommands.record(answers.length);
    drainMessages.record(messages);
    planDeferred.record(waiting);
  }

  /** The turn's entry has its place in the log; since when it has is returned. */
  proposed(answers: readonly Answer[]): number {
    const { arrivalToProposed, drainToPropose } = this.#pipeline;
    const nowMs = this.#clock.nowMs();
    this.#lastMs = nowMs;
    this.#isProposed = true;
    this.#pipeline.proposals++;
    drainToPropose.record((nowMs - this.#beganMs) * US_PER_MS);
    for (const { ticket } of answers) {
      const { command, arrivedMs = nowMs } = ticket as Request;
      if (command.kind === 'pop') continue;
      arrivalToProposed.record((nowMs - arrivedMs) * US_PER_MS);
    }
    return nowMs;
  }

  /** Everything that the turn had to do is done. */
  turned(): void {
    const nowMs = this.#isProposed ? this.#lastMs : this.#clock.nowMs();
    this.#pipeline.turn.record((nowMs - this.#beganMs) * US_PER_MS);
  }

  /** What this leadership has counted by itself since its beginning. */
  settle(wakes: number, { loaded, unloaded }: Turnover): void {
    const { applied, consumed } = this.#pipeline;
    applied.wakes += wakes - this.#settled.wakes;
    consumed.loaded += loaded - this.#settled.loaded;
    consumed.unloaded += unloaded - this.#settled.unloaded;
    this.#settled = { wakes, loaded, unloaded };
  }

  committed(proposedMs: number, nowMs: number): void {
    this.#pipeline.proposedToCommitted.record((nowMs - proposedMs) * US_PER_MS);
  }

  applied(proposedMs: number): void {
    this.#pipeline.proposeRoundtrip.record((this.#clock.nowMs() - proposedMs) * US_PER_MS);
  }
}

function pushedMessages(command: Command): number {
  if (command.kind === 'push') return command.itemGroup.length;
  return command.kind === 'transaction' ? (command.pushes?.itemGroup.length ?? 0) : 0;
}
