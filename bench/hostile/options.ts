// The command line of `npm run bench -- --hostile`.

import { parseArgs } from 'node:util';
import { integer, integers, someOf } from '../rig/option-values.js';
import { HOSTILE_ATTACKS } from './attacks.js';

export interface HostileOptions {
  readonly httpThreads: readonly number[];
  readonly attacks: readonly string[];
  readonly rounds: number;
  readonly entry: string | undefined;
  readonly jsonFile: string | undefined;
}

const ALL = Object.keys(HOSTILE_ATTACKS);

export const HOSTILE_USAGE = `npm run bench -- --hostile [options]
  --hostile          what clients of one front thread notice of a hostile client of another
  --http-threads LIST  nodes with so many front threads, one after the other (default 0,2)
  --only LIST        attacks, of ${ALL.join(', ')}
  --rounds N         the median counts (default 3)
  --entry FILE, --json FILE`;

/** Throws an Error that says what is wrong with the arguments. */
export function readHostileOptions(commandLine: readonly string[]): HostileOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      hostile: { type: 'boolean' },
      'http-threads': { type: 'string', default: '0,2' },
      only: { type: 'string', default: ALL.join(',') },
      rounds: { type: 'string', default: '3' },
      entry: { type: 'string' },
      json: { type: 'string' },
    },
  });
  return {
    httpThreads: integers('http-threads', values['http-threads'], 0, 8),
    attacks: someOf('only', values.only, ALL),
    rounds: integer('rounds', values.rounds, 1, 99),
    entry: values.entry,
    jsonFile: values.json,
  };
}
