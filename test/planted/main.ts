/**
 * `npm run planted`: plants the bugs one after the other and shows which hunt finds them, and with
 * how many seeds. Exit code 1 when one is not found, 2 for arguments that it does not know.
 */
import { parseArgs } from 'node:util';
import { HUNTS, type PlantedBug } from './bug.js';
import { BUGS } from './bugs.js';
import { huntAll, seedsFrom } from './hunting.js';
import { HEADING, rateOf, rowOf } from './report.js';

const USAGE = `npm run planted -- [--bug NAME] [--seeds N]

  --list       the bugs, and what each of them means
  --bug NAME   this one alone; a part of the name is enough
  --hunt NAME  hunt with ${HUNTS.join(', ')} instead
  --first N    the first seed; the one that the table names unless given
  --seeds N    so many seeds instead of those that the table allows
  --times N    N times as many seeds as the table allows
  --all        run all of them and count those that find the bug
  --none       plant nothing: whatever is found is wrong with the program or the hunt
  --jobs J     so many processes at a time; 1 unless given`;

function refuse(text: string): never {
  console.error(text);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        list: { type: 'boolean', default: false },
        bug: { type: 'string' },
        hunt: { type: 'string' },
        first: { type: 'string' },
        seeds: { type: 'string' },
        times: { type: 'string', default: '1' },
        all: { type: 'boolean', default: false },
        none: { type: 'boolean', default: false },
        jobs: { type: 'string', default: '1' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
}

function numberOf(text: string): number {
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : refuse(`not a number: ${text}`);
}

const given = readArguments();

function chosen(): readonly PlantedBug[] {
  const { bug: part = '' } = given;
  const named = BUGS.filter(({ name }) => name === part);
  const bugs = named.length > 0 ? named : BUGS.filter(({ name }) => name.includes(part));
  if (bugs.length === 0) refuse(`no such bug: ${part}; --list names them`);
  const other = HUNTS.find((name) => name === given.hunt);
  if (given.hunt !== undefined && other === undefined) refuse(`no such hunt: ${given.hunt}`);
  const times = numberOf(given.times);
  return bugs.map((bug) => {
    const seeds = given.seeds === undefined ? bug.seeds * times : numberOf(given.seeds);
    const known = other === undefined ? (bug.first ?? 1) : 1;
    const first = given.first === undefined ? known : numberOf(given.first);
    return { ...bug, seeds, first, hunt: other ?? bug.hunt };
  });
}

/** Prints what came of each; returns how many were missed. */
async function huntChosen(bugs: readonly PlantedBug[]): Promise<number> {
  const { all, none } = given;
  if (!all) console.log(HEADING);
  const tasks = bugs.map((bug) => {
    const seeds = seedsFrom(bug.first ?? 1, bug.seeds);
    return { hunt: bug.hunt, seeds, all, bug: none ? null : bug, shown: bug };
  });
  const answers = await huntAll(tasks, numberOf(given.jobs), ({ shown }, answer) => {
    console.log(all ? rateOf(shown, answer) : rowOf(shown, answer));
  });
  return answers.filter(({ needed }) => needed === null).length;
}

if (given.help) console.log(USAGE);
else if (given.list) {
  for (const { name, meaning, hunt: hunter, seeds, first = 1 } of BUGS) {
    console.log(`${name} (${hunter}, ${seeds} seeds from ${first} on): ${meaning}`);
  }
} else process.exitCode = (await huntChosen(chosen())) === 0 ? 0 : 1;
