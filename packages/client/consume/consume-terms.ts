/** What a consume loop is told to do. */
import type { StandardSchema } from '../base/standard-schema.js';
import type { Message } from '../messages/message.js';
import type { PopTerms } from '../messages/pop.js';
import type { SupervisionOptions } from './supervision.js';

export interface ConsumeTerms {
  readonly pop: PopTerms;
  /** The loop chooses how many messages it takes at a time. */
  readonly isPaced: boolean;
  /** Batches that are worked on at a time. */
  readonly concurrency: number;
  /** Messages in all. */
  readonly limit: number;
  /** The loop ends when nothing came for so long. */
  readonly idleMs: number;
  readonly autoAck: boolean;
  /** null: leases are not renewed. */
  readonly renewMs: number | null;
  readonly schema: StandardSchema | undefined;
}

export interface ConsumeOptions {
  /** Ends the loop: the handler that runs is waited for, what was not begun is given back. */
  readonly signal?: AbortSignal;
  readonly supervision?: SupervisionOptions;
}

/** What a handler gets beside its messages. */
export interface HandlerContext {
  /**
   * Aborted when the lease of the messages is lost, with a `ClientError` of the code `lease_lost`,
   * and when the loop is to end.
   */
  readonly signal: AbortSignal;
}

export type BatchHandler<Data> = (
  messages: Message<Data>[],
  context: HandlerContext,
) => unknown | Promise<unknown>;

export type MessageHandler<Data> = (
  message: Message<Data>,
  context: HandlerContext,
) => unknown | Promise<unknown>;

/** One of the two; in both forms batches are popped and settled alike. */
export type Handler<Data> =
  | { readonly kind: 'batch'; readonly handle: BatchHandler<Data> }
  | { readonly kind: 'each'; readonly handle: MessageHandler<Data> };

export interface Callbacks<Data> {
  readonly onSuccess?: (handled: Message<Data>[]) => unknown;
  readonly onError?: (handled: Message<Data>[], error: unknown) => unknown;
}
