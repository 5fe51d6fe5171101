/**
 * The life of a node: one list of its parts, opened in this order and closed in reverse.
 *
 *     open                the lowest first; consensus, which sets all in motion, comes last
 *     drain, then close   `stop`: what was accepted is answered, what is applied is checkpointed
 *     halt                a write found no space: the node writes nothing and takes no part any
 *                         more, but stays and says so
 *     reopen              a snapshot was received: nothing that this node says from here on may
 *                         count. A `stop` follows, and the directory is opened anew
 *
 * What must hold: a part that opens something closes it in each of these endings, or its row says
 * why not; and a part is closed before those that it uses. Closing twice does nothing more.
 */
import type { OpenDirectory } from '../directory/node-directory.js';
import type { Reach } from '../system/crash-points.js';
import type { NodeParts } from './parts.js';

export interface Part {
  readonly name: string;
  readonly open?: () => void;
  /** Takes nothing new, and answers whoever would wait long. */
  readonly drain?: () => void;
  /** Nothing that was accepted is without its answer. */
  readonly isIdle?: () => boolean;
  readonly close?: () => void | Promise<void>;
  /** At a halt it is closed, or stays as it is, or does this. */
  readonly halt: 'closes' | 'stays' | (() => void);
  readonly reopen: 'closes' | 'stays';
}

export class Lifecycle {
  readonly #upward: readonly Part[];
  readonly #downward: readonly Part[];

  constructor(parts: readonly Part[]) {
    this.#upward = parts;
    this.#downward = [...parts].reverse();
  }

  open(): void {
    for (const { open } of this.#upward) open?.();
  }

  drain(): void {
    for (const { drain } of this.#downward) drain?.();
  }

  get isIdle(): boolean {
    return this.#upward.every(({ isIdle }) => isIdle?.() ?? true);
  }

  /** Parts that close at once do so without a turn of the loop in between. */
  async close(): Promise<void> {
    for (const { close } of this.#downward) {
      const closing = close?.();
      if (closing !== undefined) await closing;
    }
  }

  halt(): void {
    for (const { halt, close } of this.#downward) {
      if (halt === 'closes') close?.();
      else if (halt !== 'stays') halt();
    }
  }

  reopen(): void {
    for (const { reopen, close } of this.#downward) if (reopen === 'closes') close?.();
  }
}

/** Its files: a halted node does not touch them, and a snapshot is put in their place later. */
const FILES = { halt: 'stays', reopen: 'stays' } as const;
/** It says nothing to others, so at a reopening it can wait for the stop that follows. */
const SILENT = { halt: 'closes', reopen: 'stays' } as const;
const TALKING = { halt: 'closes', reopen: 'closes' } as const;
/**
 * It answers other nodes. They ask elsewhere from the drain on, so that no answer is waited for. A
 * halted node goes on: it is asked why it takes no part.
 */
const TELLING = { halt: 'stays', reopen: 'stays' } as const;

/** How often the log's second witness is brought up to date. */
const LOG_TICK_MS = 250;

export interface LifeOptions {
  readonly clock: { every(periodMs: number, work: () => void): () => void };
  readonly crash: { readonly reach: Reach };
  readonly opened: Pick<OpenDirectory, 'log' | 'hardState' | 'state'>;
  readonly parts: NodeParts;
  /** Gives what arrives from other nodes to the parts that it is for. */
  readonly openLink: () => void;
  /** The log is whole. */
  readonly startConsensus: () => void;
}

export function lifeOf(options: LifeOptions): readonly Part[] {
  return [...filesOf(options), ...upkeepOf(options), ...serviceOf(options), ...leadingOf(options)];
}

function filesOf({ clock, crash, opened, parts }: LifeOptions): readonly Part[] {
  const { log, hardState, state } = opened;
  const { recovery, replica } = parts;
  let stopTicking = () => {};
  return [
    { name: 'state', close: () => state.close(), ...FILES },
    { name: 'hard state', close: () => hardState.close(), ...FILES },
    {
      name: 'log',
      open: () => {
        stopTicking = clock.every(LOG_TICK_MS, () => log.tick());
      },
      close: () => {
        stopTicking();
        return new Promise((resolve) => log.close(resolve));
      },
      // A tick may write.
      halt: () => stopTicking(),
      reopen: 'stays',
    },
    {
      name: 'replica',
      close: async () => {
        crash.reach('stop-drained');
        await new Promise<void>((resolve) => replica.close(resolve));
        crash.reach('stop-checkpointed');
      },
      // Its last checkpoint is a write.
      halt: () => replica.halt(),
      reopen: 'stays',
    },
    {
      // It is opened by `consensus`, which it precedes: the log has to be whole before.
      name: 'recovery',
      close: () =>
        recovery === null ? undefined : new Promise((resolve) => recovery.close(resolve)),
      ...SILENT,
    },
  ];
}

function upkeepOf({ parts, openLink }: LifeOptions): readonly Part[] {
  const { space, version, reports, gate, scrubber, link, recovery, holds, sourceReads } = parts;
  return [
    {
      name: 'space',
      // Among others recovery starts it, once the state is complete: an entry that is given up must
      // be one that the leader has confirmed.
      open: () => {
        if (recovery === null) space.start();
      },
      close: () => space.stop(),
      ...SILENT,
    },
    { name: 'version', open: () => version.start(), close: () => version.stop(), ...TALKING },
    {
      name: 'reports',
      // Alone there is nobody to tell.
      open: () => {
        if (link !== null) reports.start();
      },
      close: () => reports.stop(),
      ...TALKING,
    },
    { name: 'gate', open: () => gate.start(), close: () => gate.stop(), ...SILENT },
    { name: 'scrubber', open: () => scrubber.start(), close: () => scrubber.stop(), ...SILENT },
    { name: 'link', open: openLink, close: () => link?.close(), ...TALKING },
    {
      name: 'source reads',
      drain: () => sourceReads?.drain(),
      close: () => {
        sourceReads?.stop();
        return holds === null ? undefined : new Promise((resolve) => holds.close(resolve));
      },
      // A standby goes on with another node.
      ...TALKING,
    },
  ];
}

function serviceOf({ parts, startConsensus }: LifeOptions): readonly Part[] {
  const { membership, blocks, gather, ephemeral, recovery } = parts;
  const { consensus, fetches, reads, requests } = parts;
  return [
    {
      name: 'membership',
      open: () => membership.open(),
      drain: () => membership.close(),
      // A change that waits here for a leader is answered: ask elsewhere.
      halt: () => membership.close(),
      reopen: 'stays',
    },
    { name: 'blocks', open: () => blocks.open(), drain: () => blocks.close(), ...TELLING },
    { name: 'gather', open: () => gather.open(), drain: () => gather.close(), ...TELLING },
    {
      name: 'ephemeral',
      open: () => ephemeral.open(),
      drain: () => ephemeral.drain(),
      isIdle: () => ephemeral.idle,
      close: () => ephemeral.stop(),
      ...TALKING,
    },
    {
      name: 'consensus',
      open: () => {
        if (recovery === null) startConsensus();
        else recovery.begin();
      },
      close: () => consensus.stop(),
      ...TALKING,
    },
    {
      name: 'fetches',
      // A fetch that waits for messages is answered with what there is.
      drain: () => fetches.stop(),
      close: () => fetches.stop(),
      ...TALKING,
    },
    {
      name: 'reads',
      drain: () => reads.drain(),
      isIdle: () => reads.idle,
      close: () => reads.stop(),
      ...TALKING,
    },
    {
      name: 'requests',
      drain: () => requests.drain(),
      isIdle: () => requests.idle,
      close: () => requests.stop(),
      ...TALKING,
    },
  ];
}

function leadingOf({ parts }: LifeOptions): readonly Part[] {
  const { leadership, broker, follower } = parts;
  return [
    {
      name: 'leadership',
      isIdle: () => leadership.idle,
      close: () => leadership.stop(),
      ...TALKING,
    },
    {
      name: 'broker',
      isIdle: () => broker.idle,
      close: () => {
        // First: a claim that is given back now would be planned, in an entry that nobody awaits.
        leadership.end();
        broker.stop();
      },
      ...TALKING,
    },
    {
      // It begins with a leadership, and ends before it.
      name: 'follower',
      drain: () => follower?.yield(),
      close: () => follower?.close(),
      ...TALKING,
    },
  ];
}
