// What is measured, in which order: every load on every system in turn, then the same again, so
// that whatever changes on the machine meanwhile meets all of them.

import type { AgainstOptions } from './options.js';
import type { PeerName, Setting, SystemName, Work } from './result.js';

/** One load that every system gets. */
export interface Cell {
  readonly work: Work;
  readonly payloadBytes: number;
  readonly batch: number;
}

export function cells(options: AgainstOptions): readonly Cell[] {
  return options.works.flatMap((work): readonly Cell[] => {
    const [first = 0] = options.payloads;
    if (work === 'latency') return [{ work, payloadBytes: first, batch: 1 }];
    return options.payloads.flatMap((payloadBytes) =>
      options.batches.map((batch) => ({ work, payloadBytes, batch })),
    );
  });
}

export interface Entrant {
  readonly system: SystemName;
  readonly setting: Setting;
}

/** Those that replicate with acknowledgements of a majority, by setting. */
const REPLICATING: { readonly [setting in Setting]: readonly PeerName[] } = {
  durable: ['nats', 'rabbitmq'],
  // A classic queue of RabbitMQ stays on one node, however many there are.
  defaults: ['nats'],
};

/** Ours first. */
export function entrants(options: AgainstOptions, nodes: number): readonly Entrant[] {
  const peers = options.peers.flatMap((system) =>
    options.settings
      .filter((setting) => nodes === 1 || REPLICATING[setting].includes(system))
      .map((setting): Entrant => ({ system, setting })),
  );
  return [{ system: 'ours', setting: 'durable' }, ...peers];
}

/** Measured windows of the whole run. */
export function windowCount(options: AgainstOptions): number {
  const systems = options.nodes.reduce((sum, nodes) => sum + entrants(options, nodes).length, 0);
  return systems * cells(options).length * options.rounds;
}
