// What is measured, in which order: every load on every system, then the same again, so that
// whatever changes on the machine meanwhile meets all of them.

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
    // Sizes alternate: disks of rented machines take a burst several times as fast as they go on
    // with, and get back what was used of it within half a minute.
    return options.batches.flatMap((batch) =>
      options.payloads.map((payloadBytes) => ({ work, payloadBytes, batch })),
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

/** A p99 is that of the slowest hundredth of a window, so it needs more of them than a rate. */
const LATENCY_WINDOWS = 3;

export function secondsOf(cell: Cell, { seconds }: AgainstOptions): number {
  return cell.work === 'latency' ? LATENCY_WINDOWS * seconds : seconds;
}

/** At least. */
export function roundsOf(cell: Cell, { rounds }: AgainstOptions): number {
  return cell.work === 'latency' ? rounds + 2 : rounds;
}

/** Of a system that has just started: nobody measures one that compiles. */
export const WARM_UP = { seconds: 2, warmUpMs: 0 } as const;

/** Those that are measured, in small; a latency needs no more than a publish does. */
export function warmUpWorks({ works }: AgainstOptions): readonly ('publish' | 'consume')[] {
  return works.includes('consume') ? ['publish', 'consume'] : ['publish'];
}

/**
 * What a system takes in a round beside its seconds, at the mean: an empty queue before, its
 * removal after, and answers that are still to come. Most take 0.1 to 0.4 s; NATS with synchronous
 * files has some thousand messages to write, on three nodes for seconds, and there it is one of
 * three others instead of one of eight.
 */
const AROUND_ROUND_MS = { one: 550, several: 1400 } as const;
/** Of a turn, what counts; the rest are its beginning and its end. */
const TURN_SHARE = 0.8;
/** Of one node of a system, at the mean; RabbitMQ takes 5 s, Redis none. */
const START_MS = 2000;

/** What all systems with so many nodes take when no load needs more rounds, about. */
export function leastMs(options: AgainstOptions, nodes: number): number {
  const { warmUpMs } = options;
  const all = entrants(options, nodes).length;
  const aroundMs = nodes === 1 ? AROUND_ROUND_MS.one : AROUND_ROUND_MS.several;
  const measuredMs = cells(options)
    .map((cell) => {
      const secondsMs = secondsOf(cell, options) * 1000;
      const alone = cell.work === 'latency' || all === 1;
      const ms = (alone ? secondsMs : secondsMs / TURN_SHARE) + warmUpMs + aroundMs;
      return roundsOf(cell, options) * ms * (alone ? all : 2 * (all - 1));
    })
    .reduce((sum, ms) => sum + ms, 0);
  const warmUpsMs = warmUpWorks(options).length * (WARM_UP.seconds * 1000 + aroundMs);
  return measuredMs + all * (nodes * START_MS + warmUpsMs);
}
