// The command line of `npm run abuse`.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { integer, oneOf } from '../rig/option-values.js';
import { AGAINST, type Against } from './scenario.js';
import { SCENARIOS } from './scenario-list.js';

export interface AbuseOptions {
  /** All when none is named. */
  readonly scenarios: readonly string[];
  /** null: each scenario against what it is for. */
  readonly only: Against | null;
  readonly list: boolean;
  readonly seconds: number;
  /** The checkout whose build is attacked; undefined: this one. */
  readonly against: string | undefined;
  readonly jsonFile: string | undefined;
  readonly profile: boolean;
  /** Two files of results to be shown side by side; nothing is run. */
  readonly table: readonly [before: string, after: string] | null;
}

export const USAGE = `npm run abuse -- [options]
  --scenario NAME    one attack; may be given several times (default: all)
  --only WHAT        node or cluster: only attacks against that (default: both)
  --list             the attacks, and nothing else
  --seconds N        how long each attack lasts (default 8; some take longer of themselves)
  --against DIR      attack the build in another checkout
  --json FILE        where results go; those of other attacks in the file stay
  --profile          nodes write CPU profiles, whose longest functions are shown
  --table BEFORE AFTER   two files of results side by side, and nothing else`;

/** Throws an Error that says what is wrong with the arguments. */
export function readOptions(commandLine: readonly string[]): AbuseOptions {
  const { values, positionals } = parseArgs({
    args: [...commandLine],
    allowPositionals: true,
    options: {
      scenario: { type: 'string', multiple: true, default: [] },
      only: { type: 'string' },
      list: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '8' },
      against: { type: 'string' },
      json: { type: 'string' },
      profile: { type: 'boolean', default: false },
      table: { type: 'boolean', default: false },
    },
  });
  const [before, after, ...more] = positionals;
  if (values.table ? after === undefined || more.length > 0 : before !== undefined) {
    throw new Error('--table takes two files, and nothing else takes any');
  }
  const names = SCENARIOS.map(({ name }) => name);
  return {
    scenarios: values.scenario.map((name) => oneOf('scenario', name, names)),
    only: values.only === undefined ? null : oneOf('only', values.only, AGAINST),
    list: values.list,
    seconds: integer('seconds', values.seconds, 1, 600),
    against: values.against === undefined ? undefined : resolve(values.against),
    jsonFile: values.json,
    profile: values.profile,
    table: before !== undefined && after !== undefined ? [before, after] : null,
  };
}
