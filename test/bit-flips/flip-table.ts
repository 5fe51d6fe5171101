/** The table as it was measured: for each expected row and each shape, how often each outcome. */
import type { Expectation } from './expected.js';
import type { Outcome } from './trial.js';

type Counts = Map<Outcome, number>;

export class FlipTable {
  readonly #rows: readonly Expectation[];
  readonly #shapes: readonly string[];
  readonly #counts = new Map<Expectation, Map<string, Counts>>();

  constructor(rows: readonly Expectation[], shapes: readonly string[]) {
    this.#rows = rows;
    this.#shapes = shapes;
  }

  note(row: Expectation, shape: string, outcome: Outcome): void {
    const shapes = this.#counts.get(row) ?? new Map<string, Counts>();
    const counts = shapes.get(shape) ?? new Map<Outcome, number>();
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    shapes.set(shape, counts);
    this.#counts.set(row, shapes);
  }

  /** Rows that no trial belonged to. */
  empty(): string[] {
    return this.#rows.filter((row) => !this.#counts.has(row)).map(nameOf);
  }

  text(): string {
    const lines = this.#rows.flatMap((row) => {
      const shapes = this.#counts.get(row);
      if (shapes === undefined) return [];
      const cells = this.#shapes
        .filter((shape) => shapes.has(shape))
        .map((shape) => `    ${shape}: ${countsOf(shapes.get(shape) ?? new Map())}`);
      return [`${nameOf(row)}: ${row.why}`, ...cells];
    });
    return ['bit flips, as measured:', ...lines].join('\n');
  }
}

function nameOf({ kind, regions }: Expectation): string {
  const which = regions === undefined ? 'other regions' : `regions ${regions.source}`;
  return `${kind.source}, ${which}`;
}

function countsOf(counts: Counts): string {
  return [...counts].map(([outcome, count]) => `${outcome} ${count}`).join(', ');
}
