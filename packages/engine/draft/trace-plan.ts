/** Writing a trace (state-surfaces 6.1). */

import type { TraceCommand, TracedOutcome } from '../base/commands/traces.js';
import { findNamedPartition } from '../state/catalog.js';
import type { Draft } from './draft.js';

export function planTrace(draft: Draft, command: TraceCommand): TracedOutcome {
  const { tenant, partitionId, transactionId, names, eventType, data } = command;
  const found = partitionId === null ? null : findNamedPartition(draft.state, tenant, partitionId);
  if (found === undefined) return { kind: 'traced', traceId: null };
  const traceId = command.traceId ?? draft.surroundings.newUuid(draft.nowUs);
  const { consumerGroup, worker, messageId } = command;
  const partition = found?.partition.number ?? 0;
  const place = { tenant, traceId, partition, transactionId };
  const row = { ...place, names, eventType, consumerGroup, worker, messageId };
  draft.emit({ kind: 'trace', number: draft.mintPlace(), row, data });
  return { kind: 'traced', traceId };
}

// --- between nodes -----------------------------------------------------------------------------
