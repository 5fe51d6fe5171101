/** What the clients of all state surfaces have in common. */
import type { RefusedOutcome } from '@svc/engine';
import type { ReadRecord } from '../checkers/history.js';
import type { SeededRandom } from '../seeded-random.js';
import type { ClientNetwork, NoAnswer } from './client-network.js';
import type { Pace } from './pace.js';
import type { SimulatedLoop } from './simulated-loop.js';

export interface SurfaceClientOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly network: Pick<ClientNetwork, 'caller'>;
  readonly pace: Pace;
  readonly note: (text: string) => void;
  /** Delay of timers: waiting for them shall not make a run much longer. */
  readonly delayMsMax: number;
  /** Instants at which wall clocks may have moved, or a leader's may differ from the last one's. */
  readonly clockBreaksMs: readonly number[];
  /** By how much wall clocks end a lifetime sooner or later otherwise. */
  readonly earlyMsMax: number;
  readonly lateMs: () => number;
  /** What was asked for then is done before this, or never. */
  readonly effectUntilMs: (beganMs: number) => number;
  /** The machine's wall clock is now ahead of another one's by more than is safe. */
  readonly isAhead: (machine: number) => boolean;
  /** Instants that the time of timers may follow: a process that goes on knows better. */
  readonly timerBreaksMs: readonly number[];
  /** The machines that hold everything, when they are at rest. */
  readonly voters: () => readonly number[];
  /**
   * What was told then may be lost with its cluster, so it is as if there had been no answer. Asked
   * at the end.
   */
  readonly isDoubtful: (endedMs: number) => boolean;
  /** It rises when what was told may have been lost, with what clients had under way there. */
  readonly losses: () => number;
}

/** Clients of one surface, from the beginning of a run to the judgement of what they saw. */
export interface SurfaceClient {
  start(): void;
  /** Nothing new is begun; what was begun comes to its end. */
  end(): void;
  /** What has not come to its end; null: all has. Asked when the machines are at rest. */
  unfinished(): string | null;
  /** Partitions to read for the judgement. */
  readonly places: readonly (readonly [queue: string, partition: string])[];
  /** Returns the anomalies; `records` are those of `places`, in order. */
  judge(records: readonly ReadRecord[]): readonly string[];
}

/** There is an answer, and it is none that refuses. */
export function isTold<Answer extends { readonly kind: string }>(
  answer: Answer | NoAnswer,
): answer is Exclude<Answer, RefusedOutcome> {
  return answer !== 'refused' && answer !== 'unknown' && answer.kind !== 'refused';
}

/** Nothing was done, for certain. */
export function isRefused<Answer extends { readonly kind: string }>(
  answer: Answer | NoAnswer,
): boolean {
  if (answer === 'refused') return true;
  if (answer === 'unknown' || answer.kind !== 'refused') return false;
  const { refusal } = answer as unknown as RefusedOutcome;
  return refusal.reason === 'storage_full';
}
