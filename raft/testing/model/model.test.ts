/**
 * Goal: in a small group no order of deliveries, losses, repetitions, crashes, disk completions,
 * elections, proposals and changes breaks a promise. Method: every variant is explored breadth
 * first until its share of states is used up; a failure shows the shortest way to it. Then a sample
 * of the states found is walked to with real nodes from the start, since the exploration itself
 * puts together what nodes did in other runs.
 * RAFT_MODEL_STATES=<n> goes on for so many states each; a hundred million need about 10 GB.
 */
import process from 'node:process';
import { expect, test } from 'vitest';
import { EMPTY_PLATE } from './disk.js';
import { type Exploration, Explorer, explore, type PathStep } from './explore.js';
import { asItIs, machineText, messageText } from './fingerprint.js';
import { Machine } from './machine.js';
import { VARIANTS, type Variant } from './variants.js';

const STATES = Number(process.env.RAFT_MODEL_STATES ?? 80_000);
const DEPTH_MAX = 1000;
const WALKS = 300;
const MS_MAX = 3_600_000;

const goOn = (): boolean => true;

test.each(VARIANTS)('$name', { timeout: MS_MAX }, (variant) => {
  const exploration = explore(variant, { depthMax: DEPTH_MAX, statesMax: STATES, goOn });
  const begun = variant.start.length;
  console.log(`${variant.name}, begun ${begun} steps in: ${described(exploration)}`);
  expect(exploration.finding).toBeUndefined();
  // A model in which nobody leads or commits proves nothing.
  expect(exploration.leadersMax).toBeGreaterThan(0);
  expect(exploration.commitMax).toBeGreaterThan(0);
  expect(exploration.depth).toBeGreaterThan(3);
});

test.each(VARIANTS)('$name: the states are where real nodes get to', (variant) => {
  const explorer = new Explorer(variant);
  const { states } = explorer.run({ depthMax: DEPTH_MAX, statesMax: 10_000, goOn });
  for (let walk = 1; walk <= WALKS; walk++) {
    const state = Math.floor((walk * (states - 1)) / WALKS);
    expect(walked(variant, explorer.pathTo(state))).toEqual(explorer.nodeTexts(state));
  }
});

/** What the nodes are after a path, when all of them are real from its first step on. */
function walked(variant: Variant, path: readonly PathStep[]): readonly string[] {
  const machines = variant.nodes.map((id) => new Machine(id, EMPTY_PLATE, variant));
  const sent = new Set<string>();
  for (const { cell, move } of path) {
    const node = variant.nodes.indexOf(cell.local.view.id);
    const machine = machines[node];
    const { input } = move.step;
    if (machine === undefined) continue;
    if (input.type === 'crash' || input.type === 'lose') {
      machines[node] = new Machine(machine.id, machine.plateAfter(input), variant);
      continue;
    }
    if (input.type === 'deliver') expect(sent).toContain(messageText(input.message, asItIs));
    for (const message of machine.take(input)) sent.add(messageText(message, asItIs));
  }
  return machines.map((machine) => machineText(machine, asItIs));
}

function described(one: Exploration): string {
  const { states, steps, depth, complete, localStates, messages, commitMax, leadersMax } = one;
  return (
    `${states} states, ${steps} steps, depth ${depth}${complete ? ' (all there is)' : ''}, ` +
    `of ${localStates} states of a node and ${messages} messages; ` +
    `commit up to ${commitMax}, up to ${leadersMax} terms led`
  );
}
