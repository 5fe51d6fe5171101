/**
 * Judges stream workers: each takes a batch of one source partition, reads what its query has
 * counted there, and commits the acknowledgement, the new count and a record of the batch in one
 * cycle. Records have no ids of their own, so no deduplication hides a second one.
 *
 * Every input is in exactly one record, records of a partition follow each other as its inputs do,
 * and what is counted is the sum of the records, on every node.
 */
import { type Anomaly, groupBy } from './history.js';

export type StreamAnomalyKind =
  /** An input is in no record although everything was consumed. */
  | 'input_lost'
  | 'counted_twice'
  /** Records of a partition are not in the order of its inputs. */
  | 'order'
  /** A record whose cycle was refused. */
  | 'refused_output'
  /** A cycle was told that it had committed, and its record is not there. */
  | 'output_lost'
  | 'never_sent'
  /** The count differs from the sum of the records. */
  | 'state_differs';

export type StreamAnomaly = Anomaly<StreamAnomalyKind>;

export interface StreamInput {
  readonly partition: string;
  /** Names it among all. */
  readonly name: string;
  readonly number: number;
}

/** One sending of one cycle. */
export interface StreamCycle {
  /** Names it and nothing else in the history; its record holds it. */
  readonly value: string;
  readonly partition: string;
  /** Names of the batch, in order. */
  readonly inputs: readonly string[];
  readonly outcome: 'committed' | 'refused' | 'unknown';
}

/** What the query has counted of a partition, as one node says at the end. */
export interface StreamCell {
  readonly node: number;
  readonly partition: string;
  readonly count: number;
  readonly sum: number;
}

export interface StreamHistory {
  /** In the order of their partitions. */
  readonly inputs: readonly StreamInput[];
  readonly cycles: readonly StreamCycle[];
  /** The values of the records, in the order in which each source partition's are stored. */
  readonly outputs: readonly string[];
  /** Cells of each node and partition; a partition without one counts as nothing. */
  readonly cells: readonly StreamCell[];
  readonly nodes: readonly number[];
}

type Report = (kind: StreamAnomalyKind, text: string) => void;

export function checkStreams(history: StreamHistory): StreamAnomaly[] {
  const anomalies: StreamAnomaly[] = [];
  const report: Report = (kind, text) => anomalies.push({ kind, text });
  const stored = storedCycles(history, report);
  const byPartition = groupBy(stored, ({ partition }) => partition);
  const inputsOf = groupBy(history.inputs, ({ partition }) => partition);
  for (const [partition, inputs] of inputsOf) {
    const cycles = byPartition.get(partition) ?? [];
    checkInputs(inputs, cycles, report);
    checkCells(partition, inputs, cycles, history, report);
  }
  const outputs = new Set(history.outputs);
  for (const { value, outcome } of history.cycles) {
    if (outcome === 'committed' && !outputs.has(value)) {
      report('output_lost', `${value} was committed, and its record is not there`);
    }
  }
  return anomalies;
}

function storedCycles(history: StreamHistory, report: Report): StreamCycle[] {
  const cycleOf = new Map(history.cycles.map((cycle) => [cycle.value, cycle]));
  return history.outputs.flatMap((value) => {
    const cycle = cycleOf.get(value);
    if (cycle === undefined) report('never_sent', `${value} is the record of nothing`);
    else if (cycle.outcome === 'refused') report('refused_output', `${value} was refused`);
    return cycle ?? [];
  });
}

function checkInputs(
  inputs: readonly StreamInput[],
  cycles: readonly StreamCycle[],
  report: Report,
): void {
  const placeOf = new Map(inputs.map(({ name }, place) => [name, place]));
  const counted = inputs.map(() => 0);
  let last = -1;
  for (const { value, inputs: batch } of cycles) {
    for (const name of batch) {
      const place = placeOf.get(name);
      if (place === undefined) {
        report('never_sent', `${value} counts ${name}, which nobody sent`);
        continue;
      }
      counted[place] = (counted[place] ?? 0) + 1;
      if (place < last) report('order', `${value} counts ${name} after ${inputs[last]?.name}`);
      last = Math.max(last, place);
    }
  }
  inputs.forEach(({ name }, place) => {
    const times = counted[place] ?? 0;
    if (times === 0) report('input_lost', `${name} is in no record`);
    if (times > 1) report('counted_twice', `${name} is in ${times} records`);
  });
}

function checkCells(
  partition: string,
  inputs: readonly StreamInput[],
  cycles: readonly StreamCycle[],
  { cells, nodes }: StreamHistory,
  report: Report,
): void {
  const numberOf = new Map(inputs.map(({ name, number }) => [name, number]));
  const counted = cycles.flatMap((cycle) => cycle.inputs);
  const sum = counted.reduce((total, name) => total + (numberOf.get(name) ?? 0), 0);
  for (const node of nodes) {
    const cell = cells.find((each) => each.node === node && each.partition === partition);
    const { count = 0, sum: held = 0 } = cell ?? {};
    if (count === counted.length && held === sum) continue;
    report(
      'state_differs',
      `${partition} on node ${node}: ${count} with sum ${held}; ` +
        `the records say ${counted.length} with ${sum}`,
    );
  }
}
