/**
 * Goal: the checker of streams is silent on a right history and names each kind of wrong one.
 * Method: one right history with cycles of every outcome; each test plants one anomaly in it.
 */
import { expect, it } from 'vitest';
import {
  checkStreams,
  type StreamAnomalyKind,
  type StreamCycle,
  type StreamHistory,
  type StreamInput,
} from './stream-checker.js';

function inputs(partition: string, ...numbers: number[]): StreamInput[] {
  return numbers.map((number, i) => ({ partition, name: `${partition}${i}`, number }));
}

function cycle(value: string, names: string, outcome: StreamCycle['outcome']): StreamCycle {
  return { value, partition: value.slice(0, 1), inputs: names.split(' '), outcome };
}

/** The answer of `p1` was lost, the lease of `p2` had been lost, nothing came of `p3`. */
const RIGHT: StreamHistory = {
  inputs: [...inputs('p', 1, 2, 3, 4), ...inputs('q', 7)],
  cycles: [
    cycle('p1', 'p0 p1', 'unknown'),
    cycle('p2', 'p0 p1', 'refused'),
    cycle('p3', 'p2', 'unknown'),
    cycle('p4', 'p2 p3', 'committed'),
    cycle('q1', 'q0', 'committed'),
  ],
  outputs: ['p1', 'q1', 'p4'],
  cells: [1, 2].flatMap((node) => [
    { node, partition: 'p', count: 4, sum: 10 },
    { node, partition: 'q', count: 1, sum: 7 },
  ]),
  nodes: [1, 2],
};

function kinds(changes: Partial<StreamHistory>): StreamAnomalyKind[] {
  return [...new Set(checkStreams({ ...RIGHT, ...changes }).map(({ kind }) => kind))];
}

it('is silent on a right history', () => {
  expect(kinds({})).toEqual([]);
});

it('finds an input that is counted by nobody', () => {
  const cells = RIGHT.cells.map((cell) =>
    cell.partition === 'q' ? { ...cell, count: 0, sum: 0 } : cell,
  );
  expect(kinds({ outputs: ['p1', 'p4'], cells, cycles: RIGHT.cycles.slice(0, 4) })).toEqual([
    'input_lost',
  ]);
});

it('finds a batch that is counted twice', () => {
  const twice = RIGHT.cells.map((cell) =>
    cell.partition === 'p' ? { ...cell, count: 5, sum: 13 } : cell,
  );
  expect(kinds({ outputs: ['p1', 'p3', 'q1', 'p4'], cells: twice })).toEqual(['counted_twice']);
});

it('finds records out of order', () => {
  expect(kinds({ outputs: ['p4', 'q1', 'p1'] })).toEqual(['order']);
});

it('finds the record of a refused cycle, of a lost one and of none', () => {
  expect(kinds({ outputs: ['p2', 'q1', 'p4'] })).toEqual(['refused_output']);
  expect(kinds({ outputs: [...RIGHT.outputs, 'z1'] })).toEqual(['never_sent']);
  const cycles = [...RIGHT.cycles, cycle('p5', 'p2 p3', 'committed')];
  expect(kinds({ cycles })).toEqual(['output_lost']);
});

it('finds a state that is not what the records say, on any node', () => {
  const [first, ...others] = RIGHT.cells;
  const behind = { node: 2, partition: 'p', count: 2, sum: 3 };
  expect(kinds({ cells: [behind, ...RIGHT.cells.slice(0, 2)] })).toEqual(['state_differs']);
  expect(kinds({ cells: first === undefined ? [] : [{ ...first, sum: 11 }, ...others] })).toEqual([
    'state_differs',
  ]);
});
