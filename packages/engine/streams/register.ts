/**
 * Registering a streaming query (streams 2).
 *
 * The name is unique because it is looked up here, in the one line of commands that a leader plans:
 * of two first registrations the second finds the first one's row, be it in flight. What a tenant
 * was granted is asked for new names only, so that a worker which comes back is never locked out.
 */
import { DEFAULT_TENANT } from '@svc/wire';
import { assert } from '../base/assert.js';
import type { RegisterStreamCommand, StreamRegisteredOutcome } from '../base/commands/streams.js';
import { grantOf } from '../base/grants.js';
import { tenantNameKey } from '../base/keys.js';
import type { State } from '../base/state.js';
import type { Draft } from '../draft/draft.js';
import { countedQueries, nextStore } from '../state/streams/apply.js';
import {
  queryKey,
  type StreamQueryRow,
  streamNames,
  streamQueries,
} from '../state/streams/tables.js';

type Verdict = StreamRegisteredOutcome['verdict'];

export function planRegisterStream(
  draft: Draft,
  command: RegisterStreamCommand,
): StreamRegisteredOutcome {
  return { kind: 'stream-registered', verdict: register(draft, command) };
}

function register(draft: Draft, command: RegisterStreamCommand): Verdict {
  const { tenant, name, sourceQueue, sinkQueue, configHash } = command;
  const { state, nowUs } = draft;
  const id = state.get(streamNames, tenantNameKey(tenant, name));
  if (id === undefined) return create(draft, command);
  const before = state.get(streamQueries, queryKey(id));
  assert(before !== undefined, `query ${id} has a name, but no row`);
  const isReset = before.configHash !== configHash;
  if (isReset && !command.reset) return { result: 'mismatch', queryId: id };
  const isSame = before.sourceQueue === sourceQueue && before.sinkQueue === sinkQueue;
  if (isReset || !isSame) {
    const store = isReset ? nextStore(state) : before.store;
    const row = { ...before, sourceQueue, sinkQueue, configHash, updatedAtUs: nowUs, store };
    draft.emit({ kind: 'stream-query', row });
  }
  return { result: 'registered', queryId: id, fresh: false, reset: isReset };
}

function create(draft: Draft, command: RegisterStreamCommand): Verdict {
  const { tenant, name, sourceQueue, sinkQueue, configHash } = command;
  const { state, nowUs } = draft;
  const denied = denial(state, tenant);
  if (denied !== null) return denied;
  const row: StreamQueryRow = {
    id: draft.surroundings.newUuid(nowUs),
    tenant,
    name,
    sourceQueue,
    sinkQueue,
    configHash,
    createdAtUs: nowUs,
    updatedAtUs: nowUs,
    store: nextStore(state),
  };
  draft.emit({ kind: 'stream-query', row });
  return { result: 'registered', queryId: row.id, fresh: true, reset: false };
}

/** null: the tenant may have one more. */
function denial(state: State, tenant: string): Verdict | null {
  if (tenant === DEFAULT_TENANT) return null;
  const grant = grantOf(state, tenant, 'streams');
  if (grant?.enabled !== true) return { result: 'denied', quota: null };
  const { maxQueries } = grant;
  if (maxQueries === null || countedQueries(state, tenant) < maxQueries) return null;
  return { result: 'denied', quota: maxQueries };
}

/** The query of this id, if it is the tenant's. */
export function findQuery(state: State, tenant: string, id: string): StreamQueryRow | undefined {
  const row = state.get(streamQueries, queryKey(id));
  return row?.tenant === tenant ? row : undefined;
}
