/**
 * What each kind of file is to end as when a bit of it flips. `three`: on one node of three, `one`:
 * on a node alone; where two outcomes are named, `why` says when which is right. Regions that are
 * not named by a row of their kind belong to the row without `regions`.
 */
import type { Outcome } from './trial.js';

export interface Expectation {
  readonly kind: RegExp;
  /** All that no other row of the kind names, unless given. */
  readonly regions?: RegExp;
  readonly three: readonly Outcome[];
  /** Where no log reaches back to the first entry; as `three` unless given. */
  readonly givenBack?: readonly Outcome[];
  /** null: a node alone has no such file. */
  readonly one: readonly Outcome[] | null;
  readonly why: string;
}

export const EXPECTED: readonly Expectation[] = [
  {
    kind: /^identity( copy)?$/,
    regions: /^(format|incarnation): name$/,
    three: ['ignored', 'repaired'],
    one: ['ignored', 'repaired'],
    why:
      'a directory without these fields is one of format 1 and of a founder, as this one is; ' +
      'repaired from the other copy when what is left is no JSON',
  },
  {
    kind: /^identity( copy)?$/,
    three: ['repaired'],
    one: ['repaired'],
    why: 'the other copy says it',
  },
  {
    kind: /^witness$/,
    three: ['repaired'],
    one: ['repaired'],
    why: 'a damaged witness says nothing, and the next one is written in its place',
  },
  {
    kind: /^hard state$/,
    regions: /(between|behind) the slots/,
    three: ['ignored'],
    one: ['ignored'],
    why: 'nothing is stored there',
  },
  {
    kind: /^hard state$/,
    three: ['repaired'],
    one: ['repaired'],
    why: 'the other slot says it',
  },
  {
    kind: /^recovering marker$/,
    three: ['rejoined'],
    one: null,
    why: 'that it is there says all: the node has no vote until it has caught up',
  },
  {
    kind: /^install marker$/,
    three: ['refused'],
    one: null,
    why: 'log and state may be halfway between old and new; the node is replaced',
  },
  {
    kind: /^segment header, /,
    three: ['repaired'],
    givenBack: ['repaired', 'refused'],
    one: ['refused'],
    why:
      'its neighbours, index file or records tell it; of a first segment that nothing comes ' +
      'before, not every field; a node alone trusts no second guess',
  },
  {
    kind: /^record, /,
    regions: /^padding$/,
    three: ['ignored'],
    one: ['ignored'],
    why: 'nobody reads it',
  },
  {
    kind: /^record, .*(active|last of the log)$/,
    three: ['repaired'],
    one: ['refused'],
    why: 'the active segment is read at every start; others have the record',
  },
  {
    kind: /^record, messages, sealed$/,
    three: ['repaired'],
    one: ['withheld', 'ignored'],
    why:
      'others have the record; a node alone serves all but this one: withheld when the bit is of ' +
      'the messages, or their segment was read at the start because part of it is replayed; ' +
      'else ignored, since messages are found by position and have a checksum of their own',
  },
  {
    kind: /^record, last of a sealed segment$/,
    three: ['repaired'],
    one: ['ignored', 'refused', 'withheld'],
    why: 'alone: refused when it is to be replayed (power was lost), else as any sealed record',
  },
  {
    kind: /^record, /,
    three: ['repaired'],
    one: ['ignored'],
    why:
      'found by the scrub, given by others; alone: the checkpoint has its effects, and nobody ' +
      'reads it again',
  },
  {
    kind: /^zeros, sealed/,
    three: ['ignored'],
    one: ['ignored'],
    why: 'behind the last record of a sealed segment nothing is read',
  },
  {
    kind: /^zeros, active/,
    three: ['repaired'],
    one: ['repaired'],
    why: 'what stands behind the end is cut at the start: an entry can only be torn there',
  },
  {
    kind: /^index file$/,
    regions: /^positions$/,
    three: ['repaired'],
    one: ['ignored'],
    why: 'the segment is scanned instead; the scrub writes the file anew, a node alone has none',
  },
  {
    kind: /^index file$/,
    three: ['rebuilt'],
    one: ['rebuilt'],
    why: 'it only repeats what the segment says',
  },
  {
    kind: /^checkpoint, /,
    three: ['rebuilt'],
    givenBack: ['rejoined'],
    one: ['rebuilt'],
    why: 'made anew from the log, or from the rows of another node where the log begins later',
  },
];

export function expectationOf(kind: string, region: string): Expectation {
  const rows = EXPECTED.filter((row) => row.kind.test(kind));
  const named = rows.find((row) => row.regions?.test(region) === true);
  const row = named ?? rows.find(({ regions }) => regions === undefined);
  if (row === undefined) throw new Error(`the table expects nothing of ${kind}, ${region}`);
  return row;
}
