/** A message as a pop delivers it. */
import { refuseUnknown } from '../base/checks.js';
import type { Transport } from '../transport/transport.js';

/** As the wire has it, without the payload. */
export interface MessageRow {
  readonly id: string;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly offset: number;
  readonly transactionId: string;
  readonly traceId: string | null;
  readonly createdAt: string;
  readonly producerSub: string | null;
  readonly leaseId: string;
  readonly consumerGroup: string;
  readonly deliveryAttempt: number;
  readonly retryCount: number;
}

export interface Trace {
  readonly eventType?: string;
  readonly data?: unknown;
  readonly traceName?: string | readonly string[];
}

export class Message<Data = unknown> implements MessageRow {
  readonly id: string;
  readonly queue: string;
  readonly partition: string;
  /** What an acknowledgement names the partition by. */
  readonly partitionId: string;
  readonly offset: number;
  readonly transactionId: string;
  readonly traceId: string | null;
  /** UTC, with microseconds. */
  readonly createdAt: string;
  /** The subject of the token that pushed it. */
  readonly producerSub: string | null;
  /** "" when it was acknowledged at its delivery. */
  readonly leaseId: string;
  readonly consumerGroup: string;
  /** 1 for the first delivery. */
  readonly deliveryAttempt: number;
  readonly retryCount: number;
  /** The payload as the text that is stored: numbers above 2^53 are whole in it. */
  readonly raw: string;
  readonly #transport: Transport;
  #under: { readonly signal: AbortSignal } | undefined;
  #data: Data | undefined;
  #isParsed = false;
  #misfit: unknown;

  /** Messages come from `pop` and `consume`; nobody makes one. */
  constructor(transport: Transport, row: MessageRow, raw: string) {
    this.id = row.id;
    this.queue = row.queue;
    this.partition = row.partition;
    this.partitionId = row.partitionId;
    this.offset = row.offset;
    this.transactionId = row.transactionId;
    this.traceId = row.traceId;
    this.createdAt = row.createdAt;
    this.producerSub = row.producerSub;
    this.leaseId = row.leaseId;
    this.consumerGroup = row.consumerGroup;
    this.deliveryAttempt = row.deliveryAttempt;
    this.retryCount = row.retryCount;
    this.raw = raw;
    this.#transport = transport;
  }

  /**
   * Aborted when the lease of a loop's message is lost, with a `ClientError` of the code
   * `lease_lost`, and when the loop is to end. The signal of another message never is.
   */
  get signal(): AbortSignal {
    this.#under ??= new AbortController();
    return this.#under.signal;
  }

  /** For loops. */
  takenUnder(lease: { readonly signal: AbortSignal }): void {
    this.#under = lease;
  }

  /** The payload, parsed when it is first asked for. Throws where it does not fit the schema. */
  get data(): Data {
    if (this.#misfit !== undefined) throw this.#misfit;
    if (!this.#isParsed) this.replaceData(JSON.parse(this.raw) as Data);
    return this.#data as Data;
  }

  /** Why the payload does not fit the schema: for who asks for it. */
  refuseData(misfit: unknown): void {
    this.#misfit = misfit;
  }

  /** What a schema made of the payload. */
  replaceData(data: Data): void {
    this.#data = data;
    this.#isParsed = true;
  }

  /** Notes something about this message. It never rejects: a trace is not worth a message. */
  async trace(trace: Trace): Promise<boolean> {
    const { transactionId, partitionId, consumerGroup } = this;
    try {
      refuseUnknown(trace, 'eventType data traceName', 'trace');
      const { eventType = 'info', data = null, traceName } = trace;
      const named = traceName === undefined ? {} : { traceNames: [traceName].flat() };
      const body = { transactionId, partitionId, consumerGroup, eventType, data, ...named };
      await this.#transport.call({
        method: 'POST',
        path: '/api/v1/traces',
        body: JSON.stringify(body),
        repeat: 'unapplied',
      });
      return true;
    } catch (error) {
      this.#transport.settings.logger.warn('a trace was not written', { error: String(error) });
      return false;
    }
  }
}
