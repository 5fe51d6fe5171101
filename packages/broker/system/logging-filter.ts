/**
 * Which log lines are written: a level for everything and, where named, another for one target, as
 * in `info,raft=debug`.
 */

/** From the fewest lines to the most. */
const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const;

export type LogLevel = (typeof LEVELS)[number];

export interface LogFilter {
  /** For targets that are not named. */
  readonly level: LogLevel;
  readonly targets: ReadonlyMap<string, LogLevel>;
}

/**
 * Reads `level` and `target=level` parts, separated by commas; of two parts that say something
 * about the same the later one counts. Without a bare level, targets that are not named are at
 * `info`. Null when a part is neither: a misspelt level must not silently hide lines.
 */
export function parseLogFilter(text: string): LogFilter | null {
  let level: LogLevel = 'info';
  const targets = new Map<string, LogLevel>();
  for (const part of text.split(',')) {
    const [name, value, ...rest] = part.split('=').map((word) => word.trim());
    if (rest.length > 0 || name === undefined || name === '') return null;
    const parsed = parseLevel(value ?? name);
    if (parsed === null) return null;
    if (value === undefined) level = parsed;
    else targets.set(name, parsed);
  }
  return { level, targets };
}

/** Whether a line of `level` and `target` is written. */
export function isWritten(filter: LogFilter, target: string, level: LogLevel): boolean {
  const allowed = filter.targets.get(target) ?? filter.level;
  return LEVELS.indexOf(level) <= LEVELS.indexOf(allowed);
}

function parseLevel(text: string): LogLevel | null {
  const word = text.toLowerCase();
  return LEVELS.find((level) => level === word) ?? null;
}
