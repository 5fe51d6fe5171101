/** The features of one leadership: what each remembers, and the loops over all of them. */
import type { Command, Outcome, Ticket } from '../base/commands/commands.js';
import type { EffectObserver } from '../draft/draft.js';
import type { Job } from '../features/job.js';
import type { Effect } from '../state/effects.js';
import type { BoundStage } from '../upkeep/purge.js';
import { isHot } from './command-facts.js';
import type { AnyFeature, AnyForm, Site } from './feature.js';

/** A command's form with the memory of its feature. */
export interface Led {
  readonly form: AnyForm;
  readonly memory: Job | null;
}

const NO_JOBS: readonly Job[] = [];

export class LedFeatures implements EffectObserver {
  readonly site: Site;
  readonly first: Job[] = [];
  readonly fills: Job[] = [];
  readonly last: Job[] = [];
  /** Asked after every turn: only jobs that have an answer, as a missing member is slow to miss. */
  readonly #mayBeBusy: Busy[] = [];
  readonly #mayBeDue: Due[] = [];
  readonly #commands = new Map<Command['kind'], Led>();
  readonly #observers = new Map<Effect['kind'], Job[]>();

  constructor(features: readonly AnyFeature[], parts: Omit<Site, 'stages'>) {
    const stages: BoundStage[] = [];
    this.site = { ...parts, stages };
    for (const feature of features) {
      const memory = feature.lead(this.site);
      if (memory !== null) this.#add(memory, this[feature.at ?? 'last']);
      for (const [kind, form] of Object.entries(feature.commands ?? {})) {
        this.#commands.set(kind as Command['kind'], { form, memory });
      }
      for (const { number, step } of feature.purge ?? []) {
        stages.push({ number, step: (one) => step(one, memory) });
      }
    }
    stages.sort((a, b) => a.number - b.number);
  }

  #add(job: Job, place: Job[]): void {
    place.push(job);
    if (isBusy(job)) this.#mayBeBusy.push(job);
    if (isDue(job)) this.#mayBeDue.push(job);
    for (const kind of job.observes ?? []) {
      this.#observers.set(kind, [...(this.#observers.get(kind) ?? NO_JOBS), job]);
    }
  }

  /** null: a command of the hot path. */
  of(command: Command): Led | null {
    return isHot(command) ? null : (this.#commands.get(command.kind) ?? null);
  }

  observe(effect: Effect): void {
    for (const job of this.#observers.get(effect.kind) ?? NO_JOBS) job.observe?.(effect);
  }

  /** A job has something to do in the next turn. */
  get busy(): boolean {
    for (const job of this.#mayBeBusy) if (job.busy) return true;
    return false;
  }

  /** Monotonic milliseconds at which the first job is due; null: none will be. */
  nextDueMs(): number | null {
    let firstMs: number | null = null;
    for (const job of this.#mayBeDue) firstMs = earlier(firstMs, job.nextDueMs());
    return firstMs;
  }

  waitAgain(command: Command, outcome: Outcome, ticket: Ticket): boolean {
    const led = this.of(command);
    return led?.form.waitAgain?.(led.memory, command, outcome, ticket) === true;
  }
}

interface Busy {
  readonly busy: boolean;
}

interface Due {
  nextDueMs(): number | null;
}

function isBusy(job: Job): job is Job & Busy {
  return job.busy !== undefined;
}

function isDue(job: Job): job is Job & Due {
  return job.nextDueMs !== undefined;
}

export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
