/**
 * What a cluster is to another one (standby-link 5): `GET /api/v1/system/link`, and the `link` of
 * `/health`. A member that is absent does not apply to the role.
 */
import {
  count,
  describedAs,
  type Infer,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  text,
  truth,
} from '@svc/schema';

const sourcePlace = object({
  index: count,
  term: count,
  nowUs: describedAs('The last stamp of the entry.', count),
});

const followerFigures = object({
  state: oneOf('idle', 'following', 'waiting', 'halted'),
  source: describedAs('The node that is read now.', nullable(text)),
  scanned: describedAs('How far the log of the source is covered.', count),
  sourceApplied: describedAs('How far that node had applied when it last answered.', count),
  lagEntries: count,
  lagMs: describedAs('Age of the last entry that is applied, while entries are missing.', count),
  lastAnswerMs: describedAs('`null` before the first answer.', nullable(count)),
  entries: describedAs('Replayed since this process started.', count),
  error: nullable(text),
});

const standbyReader = object({
  name: text,
  after: describedAs('The last entry that it has applied.', count),
  idleMs: describedAs('Since its last call.', count),
  heldBytes: describedAs('Size of the log of this node from that entry on.', count),
});
export type StandbyReader = Infer<typeof standbyReader>;

const holdLimits = object({
  idleMs: describedAs('After a silence of this length a hold ends.', count),
  diskPct: describedAs('Nothing is kept while the volume is this full; 100: never.', number),
  usedPct: describedAs('How full the volume is.', number),
});
export type HoldLimits = Infer<typeof holdLimits>;

const VIEW = {
  id: optional(text),
  name: optional(describedAs('What the source calls this standby.', text)),
  source: optional(describedAs('Addresses of the source when the role began.', text)),
  sinceUs: optional(count),
  promotedAtUs: optional(count),
  position: optional(describedAs('The last entry of the source that is here.', sourcePlace)),
  configuredSource: optional(list(text)),
  follower: optional(followerFigures),
  readers: optional(
    describedAs('Standbys for which this node keeps its log.', list(standbyReader)),
  ),
  holding: optional(
    describedAs('`false`: the volume is too full, and the log is kept for no standby.', truth),
  ),
  limits: optional(holdLimits),
};

export const linkRole = oneOf('primary', 'standby', 'promoted');
export type LinkRole = Infer<typeof linkRole>;

/** The `link` of `/health`. */
export const linkView = object({ role: linkRole, ...VIEW });
export type LinkView = Infer<typeof linkView>;

export const linkAnswer = object({
  role: linkRole,
  leader: describedAs('Whether the node that is asked leads this cluster.', truth),
  ...VIEW,
});
export type LinkAnswer = Infer<typeof linkAnswer>;
