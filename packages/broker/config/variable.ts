/** What the table of environment variables is made of: a row, and where it is shown. */
import type { Kind } from './values.js';

/** The line of the boot log, and the section of the manual, in which a variable stands. */
export type Area =
  | 'server'
  | 'storage'
  | 'raft'
  | 'delivery'
  | 'surfaces'
  | 'auth'
  | 'security'
  | 'link'
  | 'gateway'
  | 'logging';

export interface Variable<Value> {
  /** Where there are several, the first that is set and not blank counts. */
  readonly names: readonly [string, ...string[]];
  readonly area: Area;
  readonly kind: Kind<Value>;
  readonly meaning: string;
}

export function variable<Value>(
  area: Area,
  names: string | readonly [string, ...string[]],
  kind: Kind<Value>,
  meaning: string,
): Variable<Value> {
  return { area, names: typeof names === 'string' ? [names] : names, kind, meaning };
}
