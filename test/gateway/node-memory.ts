/** The memory of a node, as the system counts it. */
import { readFileSync } from 'node:fs';
import type { ClusterNode } from '../cluster/cluster-node.js';

/**
 * MB, without pages of the store's file, which the system takes back when it needs them; 0: the
 * node has ended.
 */
export function memoryMb({ life }: Pick<ClusterNode, 'life'>): number {
  if (life === null || life.exit !== null) return 0;
  const status = readFileSync(`/proc/${life.pid}/status`, 'utf8');
  return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
