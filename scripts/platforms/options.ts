/** The command line of `npm run platforms`. */

export interface PlatformsOptions {
  readonly majors: readonly number[];
  readonly suite: string;
  readonly mirror: string;
  /** Time limit of one test run, in minutes; a run that takes longer is ended. */
  readonly minutes: number;
  /** Choose test files; all of them when empty. */
  readonly filters: readonly string[];
  readonly help: boolean;
}

export const USAGE = `npm run platforms -- [options] [filters]
  --node LIST      of 22,24 (default both)
  --minutes N      after which a test run is ended (default 120)
  --suite NAME     Debian release of the root that Node 24 gets where this system's C library is
                   older than glibc 2.38 (default trixie)
  --mirror URL     where debootstrap gets it (default http://deb.debian.org/debian)
  filters          choose test files, as with npm test`;

const MAJORS: readonly number[] = [22, 24];
const MINUTES_MAX = 1_440;

/** Reads the arguments. A text says what is wrong with them. */
export function parsePlatformsOptions(args: readonly string[]): PlatformsOptions | string {
  let majors = MAJORS;
  let suite = 'trixie';
  let mirror = 'http://deb.debian.org/debian';
  let minutes = 120;
  let help = false;
  const filters: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const name = args[i] ?? '';
    if (!name.startsWith('--')) {
      filters.push(name);
      continue;
    }
    if (name === '--help') {
      help = true;
      continue;
    }
    const value = args[++i];
    if (value === undefined || value === '') return `${name} needs a value`;
    if (name === '--node') majors = value.split(',').map(Number);
    else if (name === '--minutes') minutes = Number(value);
    else if (name === '--suite') suite = value;
    else if (name === '--mirror') mirror = value;
    else return `there is no option ${name}`;
  }
  if (majors.some((major) => !MAJORS.includes(major))) return '--node takes 22, 24 or 22,24';
  if (!Number.isInteger(minutes) || minutes < 1 || minutes > MINUTES_MAX) {
    return `--minutes takes a number from 1 to ${MINUTES_MAX}`;
  }
  return { majors, suite, mirror, minutes, filters, help };
}
