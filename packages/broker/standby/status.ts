/**
 * What this cluster is to another one, as this node sees it (standby-link 5): one object for the
 * route of the link, for `/health` and for the metrics.
 *
 * It is there on a standby, on a promoted cluster, on a node that is told of a source, and on one
 * that keeps its log for a standby. On every other node there is nothing to say.
 */
import { type State, sourcePositionOf, standbyRoleOf } from '@svc/engine';
import type { LinkView } from '@svc/wire';
import { hostAndPortText } from '../config/addresses.js';
import type { Config } from '../config/config.js';
import type { FollowerDriver } from './follower-driver.js';
import type { HoldKeeper } from './hold-keeper.js';

export interface LinkSources {
  readonly config: Pick<Config, 'sourceAddresses' | 'standbyName'>;
  readonly state: State;
  /** null: no source is named. */
  readonly follower: Pick<FollowerDriver, 'view'> | null;
  /** null: nobody may follow this cluster. */
  readonly holds: Pick<HoldKeeper, 'readers' | 'holding' | 'limits'> | null;
}

/** null: this node has no part in any link. */
export function linkViewOf(sources: LinkSources): LinkView | null {
  const { config, state, holds } = sources;
  const row = standbyRoleOf(state);
  const readers = holds?.readers() ?? [];
  const configuredSource = config.sourceAddresses.map(hostAndPortText);
  if (row === null && readers.length === 0 && configuredSource.length === 0) return null;
  return {
    ...ownPart(sources),
    ...(configuredSource.length === 0 ? {} : { configuredSource }),
    ...(row?.role === 'promoted' ? {} : followerPart(sources)),
    ...(holds === null || readers.length === 0
      ? {}
      : { readers, holding: holds.holding, limits: holds.limits }),
  };
}

/** What the role row says. */
function ownPart({ config, state }: LinkSources): LinkView {
  const row = standbyRoleOf(state);
  if (row === null) return { role: 'primary' };
  const { role, id, source, wallUs } = row;
  if (role === 'standby') {
    const { index, term, stampUs } = sourcePositionOf(state);
    const position = { index, term, nowUs: stampUs };
    const name = config.standbyName ?? `standby-${id}`;
    return { role, id, name, source, sinceUs: wallUs, position };
  }
  const promoted: LinkView = { role, id, source, promotedAtUs: wallUs };
  if (row.position === null) return promoted;
  const { index, term, stampUs } = row.position;
  return { ...promoted, position: { index, term, nowUs: stampUs } };
}

function followerPart({ state, follower }: LinkSources): Pick<LinkView, 'follower'> {
  if (follower === null) return {};
  return { follower: follower.view(sourcePositionOf(state)) };
}
