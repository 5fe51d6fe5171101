/**
 * Tries everything that can happen to a small group, up to a depth: breadth first, every state of
 * the whole group once, states that differ in the names of nodes alone counted as one. After every
 * step the rules are checked; what breaks one is returned with the shortest way to it.
 */
import { assert } from '../../assert.js';
import { type Cell, Cells, type Move } from './cells.js';
import { messageText, type Rename } from './fingerprint.js';
import { addTo, type Halves, halvesOf, NumberSet, smallest, stirred } from './hashing.js';
import { LocalStates } from './local-states.js';
import type { Input } from './machine.js';
import {
  checkLogs,
  type History,
  historyText,
  NO_HISTORY,
  withCommitted,
  withoutTermsBefore,
  withStep,
} from './rules.js';
import type { Direction, Variant } from './variants.js';

export interface Exploration {
  readonly states: number;
  /** Steps that led to a state, known or new. */
  readonly steps: number;
  /** All that can happen in this many steps was tried. */
  readonly depth: number;
  /** Nothing was left to try within the variant's bounds. */
  readonly complete: boolean;
  readonly cells: number;
  readonly histories: number;
  readonly localStates: number;
  readonly messages: number;
  /** Steps of single nodes that the real class took. */
  readonly realSteps: number;
  /** The highest commit index, and the most leaders that one run has had. */
  readonly commitMax: number;
  readonly leadersMax: number;
  readonly finding: Finding | undefined;
}

export interface Finding {
  readonly text: string;
  readonly trace: readonly string[];
}

export interface Limits {
  readonly depthMax: number;
  readonly statesMax: number;
  /** Asked now and then; the end of a depth is only reached while it says true. */
  readonly goOn: () => boolean;
}

export interface PathStep {
  readonly cell: Cell;
  readonly move: Move;
}

interface Remembered {
  readonly history: History;
  readonly halves: Halves;
}

const ASK_EVERY = 4096;
const TERMS_MAX = 16;

export function explore(variant: Variant, limits: Limits): Exploration {
  return new Explorer(variant).run(limits);
}

export class Explorer {
  readonly #variant: Variant;
  readonly #locals: LocalStates;
  readonly #cells: Cells;
  readonly #renames: readonly Rename[];
  readonly #seen = new NumberSet();
  readonly #histories: Remembered[] = [];
  /** By a history and the oldest term of any plate: what must still be remembered of it. */
  readonly #shorter: Map<number, number> = new Map();
  readonly #historyByText: Map<string, number> = new Map();
  /** For each state: its cells, its history, what it spent, the state before, and the move. */
  #records = new Int32Array(1 << 16);
  readonly #stride: number;
  #count = 0;
  #steps = 0;
  #commitMax = 0;
  #leadersMax = 0;
  readonly #sum: Halves;

  constructor(variant: Variant) {
    this.#variant = variant;
    this.#renames = renamesOf(variant);
    this.#locals = new LocalStates(variant, this.#renames);
    this.#cells = new Cells(this.#locals, variant);
    this.#stride = variant.nodes.length + 5;
    this.#sum = new Int32Array(this.#renames.length * 2);
  }

  run({ depthMax, statesMax, goOn }: Limits): Exploration {
    const initial = this.#variant.nodes.map((id) => this.#cells.initial(id).number);
    this.#add(initial, this.#remember(NO_HISTORY), 0, -1, 0, 0);
    let depth = 0;
    let stopped = false;
    let finding = this.#followStart();
    let next = this.#count - 1;
    while (depth < depthMax && next < this.#count && !stopped && finding === undefined) {
      const end = this.#count;
      for (; next < end && finding === undefined; next++) {
        stopped = this.#count >= statesMax || (next % ASK_EVERY === 0 && !goOn());
        if (stopped) break;
        finding = this.#expand(next);
      }
      if (!stopped && finding === undefined) depth++;
    }
    return {
      states: this.#count,
      steps: this.#steps,
      depth,
      complete: next === this.#count && finding === undefined,
      cells: this.#cells.all.length,
      histories: this.#histories.length,
      localStates: this.#locals.count,
      messages: this.#locals.messageCount,
      realSteps: this.#locals.steps,
      commitMax: this.#commitMax,
      leadersMax: this.#leadersMax,
      finding,
    };
  }

  /** Walks to where the variant begins: the last state. */
  #followStart(): Finding | undefined {
    for (const direction of this.#variant.start) {
      const state = this.#count - 1;
      const node = this.#variant.nodes.indexOf(direction.node);
      try {
        const moves = this.#cells.moves(this.#cellAt(state * this.#stride, node));
        for (let place = 0; place < moves.length && this.#count === state + 1; place++) {
          const move = moves[place];
          // What has happened already does not count against the bounds.
          if (move === undefined || !isMeant(direction, move.step.input)) continue;
          this.#follow(state, node, place, { ...move, price: 0 }, 0);
        }
      } catch (error) {
        return this.#found(error, state, 'the start');
      }
      assert(this.#count === state + 2, `the start has no step ${JSON.stringify(direction)}`);
    }
    return undefined;
  }

  #found(error: unknown, state: number, tried: string): Finding {
    if (!(error instanceof Error)) throw error;
    return { text: error.message, trace: [...this.#traceTo(state), `${tried}: ${error.message}`] };
  }

  #expand(state: number): Finding | undefined {
    const { nodes } = this.#variant;
    const base = state * this.#stride;
    const spent = this.#records[base + nodes.length + 1] ?? 0;
    let tried: Move | undefined;
    for (let node = 0; node < nodes.length; node++) {
      const cell = this.#cellAt(base, node);
      tried = undefined;
      try {
        const moves = this.#cells.moves(cell);
        for (let place = 0; place < moves.length; place++) {
          const move = moves[place];
          if (move === undefined || !this.#cells.affords(spent, move.price)) continue;
          tried = move;
          this.#follow(state, node, place, move, spent);
        }
      } catch (error) {
        return this.#found(error, state, tried === undefined ? 'next' : moveText(cell, tried));
      }
    }
    return undefined;
  }

  #follow(state: number, node: number, place: number, move: Move, spent: number): void {
    this.#steps++;
    const { nodes, bounds } = this.#variant;
    const base = state * this.#stride;
    const cells: number[] = [];
    for (let i = 0; i < nodes.length; i++) {
      cells.push(i === node ? move.to.number : (this.#records[base + i] ?? 0));
    }
    for (const message of move.step.said) {
      const to = nodes.indexOf(message.message.to);
      if (to < 0) continue;
      const cell = this.#cells.all[cells[to] ?? 0];
      assert(cell !== undefined, `no cell ${cells[to]}`);
      cells[to] = this.#cells.receiving(cell, message).number;
    }
    let history = this.#records[base + nodes.length] ?? 0;
    if (!move.step.quiet) history = this.#judge(history, this.#cellAt(base, node), cells, move);
    if (move.to.local.view.log.length > bounds.entriesMax) return;
    this.#add(cells, history, spent + move.price, state, node, place);
  }

  /** The number of the history after a move. */
  #judge(history: number, before: Cell, cells: readonly number[], move: Move): number {
    const { view } = move.to.local;
    const views = cells.map((number) => this.#viewOf(number));
    const stepped = this.#stepped(history, move);
    const grown = withCommitted(this.#history(stepped), before.local.view, views, view);
    checkLogs(grown, views, view);
    const whole = grown === this.#history(stepped) ? stepped : this.#remember(grown);
    let oldest = TERMS_MAX;
    for (const { plateTerm } of views) oldest = Math.min(oldest, plateTerm);
    return this.#shortened(whole, oldest);
  }

  #shortened(history: number, oldest: number): number {
    const key = history * TERMS_MAX + oldest;
    let known = this.#shorter.get(key);
    if (known === undefined) {
      known = this.#remember(withoutTermsBefore(oldest, this.#history(history)));
      this.#shorter.set(key, known);
    }
    return known;
  }

  #stepped(history: number, move: Move): number {
    const known = move.step.histories.get(history);
    if (known !== undefined) return known;
    const before = this.#history(history);
    const said = move.step.said.map(({ message }) => message);
    const after = withStep(before, move.to.local.view, said);
    const number = after === before ? history : this.#remember(after);
    move.step.histories.set(history, number);
    return number;
  }

  #history(number: number): History {
    const known = this.#histories[number];
    assert(known !== undefined, `no history ${number}`);
    return known.history;
  }

  #viewOf(cell: number): Cell['local']['view'] {
    const found = this.#cells.all[cell];
    assert(found !== undefined, `no cell ${cell}`);
    return found.local.view;
  }

  #cellAt(base: number, node: number): Cell {
    const number = this.#records[base + node] ?? -1;
    const cell = this.#cells.all[number];
    assert(cell !== undefined, `no cell ${number}`);
    return cell;
  }

  #remember(history: History): number {
    const texts = this.#renames.map((rename) => historyText(history, rename));
    const own = texts[0] ?? '';
    const known = this.#historyByText.get(own);
    if (known !== undefined) return known;
    this.#commitMax = Math.max(this.#commitMax, history.committed.length);
    this.#leadersMax = Math.max(this.#leadersMax, history.leaders.filter((id) => id > 0).length);
    const number = this.#histories.length;
    this.#histories.push({ history, halves: stirred(halvesOf(texts)) });
    this.#historyByText.set(own, number);
    return number;
  }

  /** A state that is new is written down and will be followed. */
  #add(
    cells: readonly number[],
    history: number,
    spent: number,
    parent: number,
    node: number,
    place: number,
  ): void {
    const sum = this.#sum;
    sum.fill(spent * 0x9e3779b);
    for (const number of cells) {
      const cell = this.#cells.all[number];
      if (cell !== undefined) addTo(sum, cell.halves);
    }
    const remembered = this.#histories[history];
    if (remembered !== undefined) addTo(sum, remembered.halves);
    if (!this.#seen.add(smallest(sum))) return;
    const base = this.#count * this.#stride;
    if (base + this.#stride > this.#records.length) {
      const before = this.#records;
      this.#records = new Int32Array(before.length * 2);
      this.#records.set(before);
    }
    this.#records.set(cells, base);
    this.#records.set([history, spent, parent, node, place], base + cells.length);
    this.#count++;
  }

  /** The steps that led to a state first. */
  pathTo(state: number): readonly PathStep[] {
    const path: PathStep[] = [];
    const { nodes } = this.#variant;
    for (let at = state; ; ) {
      const base = at * this.#stride + nodes.length;
      const parent = this.#records[base + 2] ?? -1;
      if (parent < 0) return path.reverse();
      const cell = this.#cellAt(parent * this.#stride, this.#records[base + 3] ?? 0);
      const move = this.#cells.moves(cell)[this.#records[base + 4] ?? 0];
      assert(move !== undefined, `state ${at} has no way to it`);
      path.push({ cell, move });
      at = parent;
    }
  }

  /** What each node is in a state. */
  nodeTexts(state: number): readonly string[] {
    return this.#variant.nodes.map((_, node) => {
      const { local } = this.#cellAt(state * this.#stride, node);
      return this.#locals.textOf(local);
    });
  }

  #traceTo(state: number): readonly string[] {
    return this.pathTo(state).map(({ cell, move }) => moveText(cell, move));
  }
}

function isMeant({ does, gets, from }: Direction, input: Input): boolean {
  if (input.type !== 'deliver') return input.type === does;
  const { message } = input;
  return message.type === gets && (from === undefined || message.from === from);
}

function moveText(cell: Cell, { step: { input } }: Move): string {
  const who = `node ${cell.local.view.id}`;
  switch (input.type) {
    case 'deliver':
      return `${who} gets ${messageText(input.message, (id) => id)}`;
    case 'crash':
      return `${who} crashes, ${input.surviving} writes survive`;
    case 'lose':
      return `${who} loses the log above ${input.keep}`;
    default:
      return `${who}: ${input.type}`;
  }
}

/** All ways to swap the names of nodes that are alike; the first changes nothing. */
function renamesOf(variant: Variant): readonly Rename[] {
  let maps: ReadonlyMap<number, number>[] = [new Map()];
  for (const group of variant.alike) {
    maps = maps.flatMap((map) =>
      ordersOf(group).map((order) => {
        const extended = new Map(map);
        for (const [place, id] of group.entries()) extended.set(id, order[place] ?? id);
        return extended;
      }),
    );
  }
  return maps.map((map) => (id) => map.get(id) ?? id);
}

function ordersOf(ids: readonly number[]): readonly (readonly number[])[] {
  if (ids.length === 0) return [[]];
  return ids.flatMap((first) =>
    ordersOf(ids.filter((id) => id !== first)).map((rest) => [first, ...rest]),
  );
}
