/** What a family of metrics is, as a row of the tables beside this file. */
import type { Counts, Meters, Summary } from '@svc/wire';
import type { NodeFigures } from '../ports/node-figures.js';
import { type Exposition, type FamilyType, labelText } from './exposition.js';

/** What families are read from, as of the scrape. */
export interface Scraped {
  readonly meters: Meters;
  readonly figures: NodeFigures;
}

export interface Family {
  readonly name: string;
  readonly type: FamilyType;
  readonly help: string;
  /** false: this node has none of it, and leaves it out; absent: it is always there. */
  readonly isShown?: (figures: NodeFigures) => boolean;
  /** Writes the samples; yields where a long list of them can be interrupted. */
  samples(out: Exposition, scraped: Scraped): Iterable<void>;
}

type Samples = (out: Exposition, scraped: Scraped) => Iterable<void> | void;

function family(name: string, type: FamilyType, help: string, samples: Samples): Family {
  return { name, type, help, samples: (out, scraped) => samples(out, scraped) ?? [] };
}

type Read<Value> = (scraped: Scraped) => Value;

export function counter(name: string, help: string, read: Read<number>): Family {
  return family(name, 'counter', help, (out, scraped) => out.sample('', read(scraped)));
}

/** null: not known, so there is no sample. */
export function gauge(name: string, help: string, read: Read<number | null>): Family {
  return family(name, 'gauge', help, (out, scraped) => {
    const value = read(scraped);
    if (value !== null) out.sample('', value);
  });
}

/** One sample for each member, under a label that names it. */
export function labelled(
  name: string,
  type: 'counter' | 'gauge',
  label: string,
  help: string,
  read: Read<Readonly<Record<string, number | null>>>,
): Family {
  return family(name, type, help, (out, scraped) => {
    for (const [member, value] of Object.entries(read(scraped))) {
      if (value !== null) out.sample(labelText(label, member), value);
    }
  });
}

/** For `labelled`: 1 under the name that holds, 0 under the others. */
export function oneOfNames(
  names: readonly string[],
  name: string | undefined,
): Readonly<Record<string, number>> {
  return Object.fromEntries(names.map((each) => [each, Number(each === name)]));
}

/** As `labelled`, for members of members. */
export function twiceLabelled(
  name: string,
  type: 'counter' | 'gauge',
  labels: readonly [string, string],
  help: string,
  read: Read<Readonly<Record<string, Counts<string>>>>,
): Family {
  return family(name, type, help, (out, scraped) => {
    for (const [outer, members] of Object.entries(read(scraped))) {
      const prefix = labelText(labels[0], outer);
      for (const [inner, value] of Object.entries(members)) {
        out.sample(`${prefix},${labelText(labels[1], inner)}`, value);
      }
    }
  });
}

/** Samples of any form. */
export function custom(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samples: Samples,
): Family {
  return family(name, type, help, samples);
}

const QUANTILES = [0.5, 0.9, 0.99, 0.999, 1] as const;
const US_PER_SECOND = 1_000_000;
const NS_PER_US = 1000;

/** Durations, which are recorded in microseconds. */
export function seconds(name: string, help: string, read: Read<Summary>): Family {
  return summary(name, help, US_PER_SECOND, read);
}

export function sizes(name: string, help: string, read: Read<Summary>): Family {
  return summary(name, help, 1, read);
}

/** To a nanosecond, for seconds: fractions of additions say nothing. */
function scaled(value: number, divisor: number): number {
  return Math.round(value * NS_PER_US) / NS_PER_US / divisor;
}

function summary(name: string, help: string, divisor: number, read: Read<Summary>): Family {
  return family(name, 'summary', help, (out, scraped) => {
    const recorded = read(scraped);
    for (const share of QUANTILES) {
      out.sample(labelText('quantile', String(share)), scaled(recorded.quantile(share), divisor));
    }
    out.sample('', scaled(recorded.sum, divisor), '_sum');
    out.sample('', recorded.count, '_count');
  });
}

/** A summary for each member, under a label that names it; without its sum. */
export function labelledSeconds(
  name: string,
  label: string,
  help: string,
  shares: readonly number[],
  read: Read<Iterable<readonly [string, Summary]>>,
): Family {
  return family(name, 'summary', help, (out, scraped) => {
    for (const [member, recorded] of read(scraped)) {
      const prefix = labelText(label, member);
      for (const share of shares) {
        const labels = `${prefix},${labelText('quantile', String(share))}`;
        out.sample(labels, scaled(recorded.quantile(share), US_PER_SECOND));
      }
      out.sample(prefix, recorded.count, '_count');
    }
  });
}

/** Belongs to the same families as those before it, and is left out when timings are off. */
export function pipelineOnly(families: readonly Family[]): readonly Family[] {
  return families.map((each) => ({ ...each, isShown: ({ showsPipeline }) => showsPipeline }));
}
