/** The data that a front thread is started with, and the messages of its port beside the frames. */
import type { ConnectionBounds, TlsFiles } from '@svc/http';
import type { SummaryPart } from '@svc/wire';
import type { Config } from '../config/config.js';

export interface Place {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
}

/** The ports that threads serve; null: not this one. */
export interface Places {
  readonly plain: Place | null;
  readonly gateway: (Place & { readonly tls: TlsFiles | null }) | null;
}

/** The ports that are listened at; null: not this one. */
export type Listening = { readonly [Name in keyof Places]: number | null };

export interface ThreadData {
  readonly isFrontThread: true;
  readonly config: Config;
  /** Threads that serve the ports. Each has an equal part of what is bounded for the node. */
  readonly threads: number;
  readonly places: Places;
  /** The bounds of each port. */
  readonly connections: Pick<ConnectionBounds, 'max' | 'perAddressMax'>;
  readonly toCore: SharedArrayBuffer;
  readonly toThread: SharedArrayBuffer;
  /** One 32-bit number: 1 once the thread holds no socket any more. */
  readonly ended: SharedArrayBuffer;
}

/** "Look at the ring." */
export const WAKE = 0;

/** From the core. */
export type ThreadOrder =
  | typeof WAKE
  /** At the places that it was started with, which may name ports by now. */
  | { readonly kind: 'listen'; readonly places: Places }
  | { readonly kind: 'retire' }
  | { readonly kind: 'stop'; readonly drainMs: number }
  /** Close everything at once. */
  | { readonly kind: 'end' };

/** Durations that a front measures; they go to the core once a second. */
export const FRONT_TIMES = [
  'pushTotal',
  'pushPrepare',
  'pushSubmit',
  'pushAwait',
  'popTotal',
] as const;

/** From the thread. */
export type ThreadReport =
  | typeof WAKE
  /** It can listen. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly ports: Listening }
  | ({ readonly kind: 'not-listening'; readonly code: string; readonly why: string } & Place)
  /** Connections are refused. */
  | { readonly kind: 'full'; readonly open: number; readonly refused: number }
  /** In the order of `FRONT_TIMES`. */
  | { readonly kind: 'times'; readonly parts: readonly SummaryPart[] }
  /** It goes on no more: what it was sent is lost. */
  | { readonly kind: 'failed'; readonly error: string };
