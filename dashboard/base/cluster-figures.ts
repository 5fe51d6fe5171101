/** Figures of the whole cluster from those of its nodes. */

interface Rates {
  readonly pushedPerSecond: number;
  readonly deliveredPerSecond: number;
  readonly ackedPerSecond: number;
}

interface Node {
  readonly nodeId: number;
  readonly reachable?: boolean | null;
  readonly rates?: Rates | null;
}

export interface ClusterRates extends Rates {
  /** Nodes whose figures are missing. */
  readonly silent: readonly number[];
}

/** Each node counts what it did itself, so the cluster's rate is the sum. */
export function clusterRates(members: readonly Node[]): ClusterRates {
  const told = members.flatMap(({ rates }) => (rates ? [rates] : []));
  const sum = (of: (rates: Rates) => number) => told.reduce((all, rates) => all + of(rates), 0);
  return {
    pushedPerSecond: sum(({ pushedPerSecond }) => pushedPerSecond),
    deliveredPerSecond: sum(({ deliveredPerSecond }) => deliveredPerSecond),
    ackedPerSecond: sum(({ ackedPerSecond }) => ackedPerSecond),
    silent: members.filter(({ rates }) => !rates).map(({ nodeId }) => nodeId),
  };
}
