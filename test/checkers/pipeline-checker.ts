/**
 * Judges a pipeline: clients take one message each, and settle it by a transaction that
 * acknowledges it, stores a result of it, and counts. Nothing but atomicity keeps the three in
 * step: results have no ids of their own, so no deduplication hides a second one.
 *
 * A result says which attempt stored it, so that one of an attempt that was rolled back is known.
 */
import { type Anomaly, groupBy } from './history.js';

export type PipelineAnomalyKind =
  /** An input has no result although everything was consumed. */
  | 'input_lost'
  | 'committed_twice'
  /** A result whose attempt was rolled back or refused. */
  | 'rolled_back_output'
  /** An attempt was told that it had committed, and its result is not there. */
  | 'output_lost'
  /** A result of no attempt, or of no input. */
  | 'never_sent'
  /** The counter is not the number of results. */
  | 'counter'
  /** Two commits were told one count, or a later one was told a lower one. */
  | 'count_order';

export type PipelineAnomaly = Anomaly<PipelineAnomalyKind>;

/** One sending of one transaction. */
export interface PipelineAttempt {
  /** Names the attempt and nothing else in the history; its result holds it. */
  readonly value: string;
  /** The input that it settles. */
  readonly input: string;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly outcome: 'committed' | 'rolled-back' | 'refused' | 'unknown';
  /** What the counter was told to be then; null without an answer. */
  readonly count: number | null;
}

export interface PipelineHistory {
  /** Names of all inputs that are stored. */
  readonly inputs: readonly string[];
  readonly attempts: readonly PipelineAttempt[];
  /** The values of the results that are stored. */
  readonly outputs: readonly string[];
  /** At the end. */
  readonly counter: number;
}

type Report = (kind: PipelineAnomalyKind, text: string) => void;

export function checkPipeline(history: PipelineHistory): PipelineAnomaly[] {
  const anomalies: PipelineAnomaly[] = [];
  const report: Report = (kind, text) => anomalies.push({ kind, text });
  checkOutputs(history, report);
  checkCounts(history, report);
  return anomalies;
}

function checkOutputs(history: PipelineHistory, report: Report): void {
  const attemptOf = new Map(history.attempts.map((attempt) => [attempt.value, attempt]));
  const inputs = new Set(history.inputs);
  const settled = new Map<string, string[]>();
  for (const value of history.outputs) {
    const attempt = attemptOf.get(value);
    if (attempt === undefined || !inputs.has(attempt.input)) {
      report('never_sent', `${value} is the result of nothing`);
      continue;
    }
    const { input, outcome } = attempt;
    if (outcome === 'rolled-back' || outcome === 'refused') {
      report('rolled_back_output', `${value} of ${input} was ${outcome}, and is there`);
    }
    settled.set(input, [...(settled.get(input) ?? []), value]);
  }
  for (const input of history.inputs) {
    const results = settled.get(input) ?? [];
    if (results.length === 0) report('input_lost', `${input} has no result`);
    if (results.length > 1) report('committed_twice', `${input}: ${results.join(' ')}`);
  }
  const stored = new Set(history.outputs);
  for (const { value, input, outcome } of history.attempts) {
    if (outcome !== 'committed' || stored.has(value)) continue;
    report('output_lost', `${value} of ${input} was committed, and is not there`);
  }
}

function checkCounts({ attempts, outputs, counter }: PipelineHistory, report: Report): void {
  if (counter !== outputs.length) {
    report('counter', `${counter} were counted, and there are ${outputs.length} results`);
  }
  const told = attempts.flatMap((attempt) => {
    const { outcome, count } = attempt;
    return outcome === 'committed' && count !== null ? [{ ...attempt, count }] : [];
  });
  for (const [count, same] of groupBy(told, (attempt) => `${attempt.count}`)) {
    const values = same.map(({ value }) => value);
    if (same.length > 1) report('count_order', `${count} was told to ${values.join(' ')}`);
  }
  told.sort((a, b) => a.count - b.count);
  let latest = told[0];
  for (const attempt of told) {
    if (latest === undefined) return;
    if (attempt.count > counter || attempt.count < 1) {
      report('counter', `${attempt.value} was told ${attempt.count} of ${counter}`);
    }
    if (attempt.endedMs < latest.beganMs) {
      report('count_order', `${attempt.value} got ${attempt.count}, before ${latest.value} began`);
    }
    if (attempt.beganMs > latest.beganMs) latest = attempt;
  }
}
