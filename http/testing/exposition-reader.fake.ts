/**
 * A strict reader of the exposition format, version 0.0.4: for tests, which run every scrape
 * through it. It knows nothing of how the text is made, and takes nothing that a collector might
 * take by mercy. Throws `ExpositionError` with the line.
 *
 * What it demands: lines end in a line feed; a family has its HELP and its TYPE, once each, before
 * its samples, and all its lines stand together; names and label names are of their alphabets, and
 * no label stands twice; only `\\`, `\"` and `\n` are escapes; values are floats as Go reads them;
 * no two samples have the same name and labels; a counter is not negative; of a summary there are
 * quantiles from 0 to 1, rising with their values, `_sum` and `_count` once for each set of labels;
 * of a histogram there are buckets that rise with their bounds, up to the count.
 */

export type ExpositionType = 'counter' | 'gauge' | 'summary' | 'histogram' | 'untyped';

export interface ReadSample {
  /** With its suffix, of a summary. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ReadFamily {
  readonly name: string;
  readonly type: ExpositionType;
  readonly help: string;
  readonly samples: ReadSample[];
}

export class ExpositionError extends Error {
  constructor(line: number, what: string) {
    super(`line ${line}: ${what}`);
    this.name = 'ExpositionError';
  }
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const FLOAT = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const TIMESTAMP = /^-?\d+$/;
const SUFFIXES: Readonly<Partial<Record<ExpositionType, readonly string[]>>> = {
  summary: ['_sum', '_count'],
  histogram: ['_bucket', '_sum', '_count'],
};
const TYPES: readonly string[] = ['counter', 'gauge', 'summary', 'histogram', 'untyped'];

interface Open {
  readonly name: string;
  help: string | null;
  type: ExpositionType | null;
  readonly samples: ReadSample[];
}

/** By name, in their order. */
export function readExposition(text: string): ReadonlyMap<string, ReadFamily> {
  const reader = new Reader();
  const lines = text.split('\n');
  if (lines.pop() !== '')
    throw new ExpositionError(lines.length + 1, 'it does not end in a line feed');
  for (const [i, line] of lines.entries()) reader.take(line, i + 1);
  return reader.end(lines.length);
}

class Reader {
  readonly #families = new Map<string, ReadFamily>();
  readonly #seen = new Set<string>();
  #open: Open | null = null;

  take(line: string, number: number): void {
    const fail = (what: string): never => {
      throw new ExpositionError(number, `${what}: ${line.slice(0, 200)}`);
    };
    if (line.includes('\r')) fail('a carriage return');
    if (line.trim() === '') return;
    if (line.startsWith('#')) this.#comment(line, fail);
    else this.#sample(line, fail);
  }

  end(number: number): ReadonlyMap<string, ReadFamily> {
    this.#close((what) => {
      throw new ExpositionError(number, what);
    });
    return this.#families;
  }

  #comment(line: string, fail: (what: string) => never): void {
    const [, kind = '', name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (kind === '') return;
    if (!NAME.test(name)) fail('not a name');
    const family = this.#familyOf(name, fail);
    if (family.samples.length > 0) fail(`${kind} after samples`);
    if (kind === 'HELP') {
      if (family.help !== null) fail('a second HELP');
      if (/(^|[^\\])(\\\\)*\\([^\\n]|$)/.test(rest)) fail('an unknown escape');
      family.help = rest;
      return;
    }
    if (family.type !== null) fail('a second TYPE');
    if (!TYPES.includes(rest)) fail('not a type');
    family.type = rest as ExpositionType;
  }

  #sample(line: string, fail: (what: string) => never): void {
    const [, name = ''] = /^([^\s{]+)/.exec(line) ?? [];
    if (!NAME.test(name)) fail('not a name');
    const { labels, rest } = readLabels(line.slice(name.length), fail);
    const [value = '', timestamp, ...more] = rest.trim().split(/[ \t]+/);
    if (more.length > 0) fail('something behind the time');
    if (timestamp !== undefined && !TIMESTAMP.test(timestamp)) fail('not a time');
    const key = `${name} ${JSON.stringify(Object.entries(labels).sort())}`;
    if (this.#seen.has(key)) fail('a sample that was there');
    this.#seen.add(key);
    const sample = { name, labels, value: readValue(value, fail) };
    this.#owner(name, fail).samples.push(sample);
  }

  /** The open family, if the sample may be one of it. */
  #owner(name: string, fail: (what: string) => never): Open {
    const open = this.#open;
    const suffixed =
      open?.type != null && SUFFIXES[open.type]?.some((end) => name === open.name + end) === true;
    if (open === null || (open.name !== name && !suffixed))
      return fail('a sample of no open family');
    if (open.type === null || open.help === null) return fail('a sample before HELP and TYPE');
    return open;
  }

  #familyOf(name: string, fail: (what: string) => never): Open {
    if (this.#open?.name === name) return this.#open;
    this.#close(fail);
    if (this.#families.has(name)) fail('a family that was closed');
    this.#open = { name, help: null, type: null, samples: [] };
    return this.#open;
  }

  #close(fail: (what: string) => never): void {
    const open = this.#open;
    if (open === null) return;
    const { name, type, help, samples } = open;
    if (type === null || help === null || help === '') fail(`${name} lacks HELP or TYPE`);
    const family = { name, type: type as ExpositionType, help: help as string, samples };
    if (family.type === 'counter') judgeCounter(family, fail);
    if (family.type === 'summary') judgeSummary(family, fail);
    if (family.type === 'histogram') judgeHistogram(family, fail);
    this.#families.set(name, family);
    this.#open = null;
  }
}

function readLabels(
  text: string,
  fail: (what: string) => never,
): { readonly labels: Record<string, string>; readonly rest: string } {
  const labels: Record<string, string> = {};
  if (!text.startsWith('{')) return { labels, rest: text };
  let at = 1;
  while (text[at] !== '}') {
    const [whole = '', name = ''] = /^([^=\s,{}"]+)="/.exec(text.slice(at)) ?? [];
    if (!LABEL.test(name) || name.startsWith('__')) fail('not a label');
    if (name in labels) fail('a label twice');
    at += whole.length;
    let value = '';
    while (text[at] !== '"') {
      const char = text[at];
      if (char === undefined) return fail('a label without an end');
      at++;
      if (char !== '\\') {
        value += char;
        continue;
      }
      const escaped = { '\\': '\\', '"': '"', n: '\n' }[text[at] ?? ''];
      if (escaped === undefined) return fail('an unknown escape');
      value += escaped;
      at++;
    }
    labels[name] = value;
    at++;
    if (text[at] === ',') at++;
    else if (text[at] !== '}') fail('neither a comma nor the end of labels');
  }
  return { labels, rest: text.slice(at + 1) };
}

function readValue(text: string, fail: (what: string) => never): number {
  if (text === 'NaN') return Number.NaN;
  if (text === '+Inf' || text === 'Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  return FLOAT.test(text) ? Number(text) : fail('not a value');
}

function judgeCounter({ name, samples }: ReadFamily, fail: (what: string) => never): void {
  for (const { value } of samples) {
    if (!(value >= 0)) fail(`${name} is a counter and has the value ${value}`);
  }
}

function judgeSummary({ name, samples }: ReadFamily, fail: (what: string) => never): void {
  const last = new Map<string, { readonly share: number; readonly value: number }>();
  for (const sample of samples) {
    const { quantile, ...labels } = sample.labels;
    const isQuantile = sample.name === name;
    if (isQuantile !== (quantile !== undefined)) fail(`${sample.name} with quantile ${quantile}`);
    if (!isQuantile) continue;
    const share = Number(quantile);
    if (!(share >= 0 && share <= 1)) fail(`${name} has the quantile ${quantile}`);
    const key = JSON.stringify(labels);
    const before = last.get(key);
    if (before !== undefined && (before.share >= share || before.value > sample.value)) {
      fail(`${name} falls from quantile ${before.share} to ${share}`);
    }
    last.set(key, { share, value: sample.value });
  }
}

function judgeHistogram({ name, samples }: ReadFamily, fail: (what: string) => never): void {
  const last = new Map<string, { readonly bound: number; readonly value: number }>();
  for (const { name: sampleName, labels, value } of samples) {
    const { le, ...others } = labels;
    if (sampleName === name) fail(`${name} has a sample of no bucket`);
    if ((sampleName === `${name}_bucket`) !== (le !== undefined))
      fail(`${sampleName} with le ${le}`);
    const key = JSON.stringify(others);
    const before = last.get(key);
    if (le !== undefined) {
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
      if (before !== undefined && !(bound > before.bound && value >= before.value)) {
        fail(`${name} falls from bucket ${before.bound} to ${le}`);
      }
      last.set(key, { bound, value });
    } else if (sampleName === `${name}_count`) {
      const isWhole = before?.bound === Number.POSITIVE_INFINITY && before.value === value;
      if (!isWhole) fail(`${name} has a count that its last bucket has not`);
    }
  }
}
