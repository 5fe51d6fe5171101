/**
 * A cluster and the one that it follows, or is followed by (standby-link 6). A node that has no
 * part in any link tells none of them. Figures of following are told on a standby alone, and those
 * of readers where the log is kept for some.
 */
import type { LinkView } from '@svc/wire';
import type { NodeFigures } from '../ports/node-figures.js';
import { type Exposition, labelText } from './exposition.js';
import { custom, type Family, gauge, labelled, oneOfNames } from './family.js';

const MS_PER_SECOND = 1000;

type Part = (link: LinkView) => unknown;

/** The families, left out together where the view has no such part. */
function where(part: Part, families: readonly Family[]): readonly Family[] {
  const isShown = ({ link }: NodeFigures) => link !== null && part(link) !== undefined;
  return families.map((family) => ({ ...family, isShown }));
}

const followed: Part = ({ role, follower }) => (role === 'standby' ? follower : undefined);

function eachReader(
  name: string,
  help: string,
  figureOf: (reader: { after: number; idleMs: number }, applied: number) => number,
): Family {
  return custom(name, 'gauge', help, (out: Exposition, { figures }) => {
    const applied = figures.raft.appliedIndex ?? 0;
    for (const reader of figures.link?.readers ?? []) {
      out.sample(labelText('reader', reader.name), figureOf(reader, applied));
    }
  });
}

export const STANDBY_FAMILIES: readonly Family[] = [
  ...where(
    ({ role }) => role,
    [
      labelled(
        'svc_link_role',
        'gauge',
        'role',
        'What this cluster is to another one.',
        ({ figures }) => oneOfNames(['primary', 'standby', 'promoted'], figures.link?.role),
      ),
    ],
  ),
  ...where(
    ({ position }) => position,
    [
      gauge(
        'svc_link_position_index',
        'The last entry of the source that is applied here.',
        ({ figures }) => figures.link?.position?.index ?? null,
      ),
    ],
  ),
  ...where(followed, [
    labelled(
      'svc_link_follower_state',
      'gauge',
      'state',
      'How this node follows the source; only the leader does.',
      ({ figures }) =>
        oneOfNames(['idle', 'following', 'waiting', 'halted'], figures.link?.follower?.state),
    ),
    gauge(
      'svc_link_lag_entries',
      'Entries that the source has applied and this cluster has not.',
      ({ figures }) => figures.link?.follower?.lagEntries ?? null,
    ),
    gauge(
      'svc_link_lag_seconds',
      'Age of the last entry of the source that is here, while entries are missing.',
      ({ figures }) => secondsOf(figures.link?.follower?.lagMs),
    ),
    gauge('svc_link_last_answer_seconds', 'Since the source answered last.', ({ figures }) =>
      secondsOf(figures.link?.follower?.lastAnswerMs),
    ),
    custom(
      'svc_link_entries_total',
      'counter',
      'Entries of the source that this node replayed.',
      (out, { figures }) => out.sample('', figures.link?.follower?.entries ?? 0),
    ),
  ]),
  ...where(
    ({ readers }) => readers,
    [
      gauge(
        'svc_link_readers',
        'Standbys for which this node keeps its log.',
        ({ figures }) => figures.link?.readers?.length ?? null,
      ),
      eachReader(
        'svc_link_reader_behind_entries',
        'Entries that are applied here and not at the standby.',
        ({ after }, applied) => Math.max(0, applied - after),
      ),
      eachReader(
        'svc_link_reader_idle_seconds',
        'Since the last call of the standby.',
        ({ idleMs }) => idleMs / MS_PER_SECOND,
      ),
      gauge(
        'svc_link_holding',
        '0: the volume is too full, and the log is kept for no standby.',
        ({ figures }) => Number(figures.link?.holding ?? false),
      ),
    ],
  ),
];

function secondsOf(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : ms / MS_PER_SECOND;
}
