/**
 * What the front asks about single messages, dead letters and traces. All of it shows everything
 * answered before it was asked.
 */
import type {
  DeadLetterFilter,
  DeadLetterList,
  DeadLetterSignatures,
  ListedMessage,
  MessageDetail,
  MessageFilter,
  Paging,
  ReadingMode,
  RefusedOutcome,
  Tenant,
  TraceList,
  TraceNameList,
} from '@svc/engine';
import type { NotFoundOutcome, Reply } from './service.js';

export interface RecordService {
  messages(query: MessageQuery, reply: Reply<MessageListView | RefusedOutcome>): void;
  /** `partitionId`: digits or a UUID, as in the following ones. */
  message(
    tenant: Tenant,
    partitionId: string,
    transactionId: string,
    reply: Reply<MessageView | NotFoundOutcome | RefusedOutcome>,
  ): void;
  deadLetters(filter: DeadLetterFilter, reply: Reply<DeadLetterListView | RefusedOutcome>): void;
  /** Over the newest `limit` of the queue. */
  deadLetterSignatures(
    tenant: Tenant,
    queue: string,
    limit: number,
    reply: Reply<SignaturesView | RefusedOutcome>,
  ): void;
  messageTraces(
    tenant: Tenant,
    partitionId: string,
    transactionId: string,
    paging: Paging,
    reply: Reply<TraceListView | RefusedOutcome>,
  ): void;
  namedTraces(
    tenant: Tenant,
    name: string,
    paging: Paging,
    reply: Reply<TraceListView | RefusedOutcome>,
  ): void;
  traceNames(tenant: Tenant, paging: Paging, reply: Reply<TraceNamesView | RefusedOutcome>): void;
}

export interface MessageQuery extends Omit<MessageFilter, 'fromUs' | 'toUs'> {
  /** null: an hour ago. */
  readonly fromUs: number | null;
  /** To the end of this minute; null: of the one that is now. */
  readonly toUs: number | null;
}

/** What the log holds of a message. */
export interface MessageContent {
  readonly messageId: string;
  readonly transactionId: string;
  /** 128 bits in hexadecimal digits. */
  readonly transactionHash: string;
  readonly producerSub: string | null;
  readonly traceId: string | null;
  /** Decrypted; null: it found no room in the answer. */
  readonly payload: Uint8Array | null;
  /** It is stored encrypted. */
  readonly isEncrypted: boolean;
}

export interface MessageListView {
  readonly kind: 'message-list';
  readonly messages: readonly (ListedMessage & { readonly content: MessageContent })[];
  readonly mode: ReadingMode;
  /** There may be more than the bounds of one answer let it show. */
  readonly truncated: boolean;
}

export interface MessageView {
  readonly kind: 'message';
  readonly detail: MessageDetail;
  readonly content: MessageContent;
}

export interface DeadLetterListView extends DeadLetterList {
  readonly kind: 'dead-letter-list';
}

export interface SignaturesView extends DeadLetterSignatures {
  readonly kind: 'dead-letter-signatures';
}

export interface TraceListView extends TraceList {
  readonly kind: 'trace-list';
}

export interface TraceNamesView extends TraceNameList {
  readonly kind: 'trace-names';
}
