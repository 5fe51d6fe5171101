/**
 * The surroundings of the channel of a front thread in its storm (`front/thread-storm.test.ts`): a
 * broker and a front of the core on the one side, clients on the other, and a model that knows what
 * may become of each request. Requests are numbered; all bytes of a request follow from its number.
 */
import type { AckCommand, PopCommand, RefusedOutcome } from '@svc/engine';
import type {
  AckedPop,
  AnswerHead,
  CallClient,
  CallRequest,
  DeliveredOutcome,
  MemoryCall,
  PassedAnswer,
  Reply,
  SubmittedCommand,
  SubmittedOutcome,
} from '@svc/http';
import { expect } from 'vitest';
import type { CoreService } from '../front/thread-server.js';
import { type SeededRandom, seededRandom } from './recovery.fake.js';

/** Bytes of a passed answer that its client's socket has not taken. */
const WINDOW_BYTES = 32_768;
const OWNERS = ['\x7f\0\0\x01', '\x7f\0\0\x02'];
const HEAD: AnswerHead = { status: '200 OK', headers: [], length: 0, closes: false };

export type PopAnswer = DeliveredOutcome | RefusedOutcome;
export type PopReply = Reply<PopAnswer>;
export type BothReply = Reply<AckedPop | RefusedOutcome>;

/** The longest that anything of a request is. */
export const LARGEST = 3 * 1024 * 1024;
const PATTERN = Buffer.from(
  Uint8Array.from({ length: LARGEST + 256 }, (_, at) => at * 7 + (at >> 8) * 13),
);

/** Bytes that tell whose they are, and where they stand. */
export function bytesOf(request: number, length: number): Buffer {
  const from = request % 256;
  return PATTERN.subarray(from, from + length);
}

function areBytesOf(request: number, bytes: Uint8Array, from = 0): boolean {
  return bytesOf(request, from + bytes.length).compare(bytes, 0, bytes.length, from) === 0;
}

/** The end of the claim of a pop. */
type Claim = 'on its way' | 'delivered' | 'given back';

export class Model {
  readonly random: SeededRandom;
  readonly applied = new Set<number>();
  readonly claims = new Map<number, Claim>();
  readonly #onTheWay = new Map<number, number>();
  #requests = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  next(): number {
    return ++this.#requests;
  }

  apply(request: number): void {
    if (this.applied.has(request)) throw new Error(`request ${request} is applied twice`);
    this.applied.add(request);
  }

  claim(request: number, from: Claim | undefined, to: Claim): void {
    const now = this.claims.get(request);
    if (now !== from) throw new Error(`the claim of ${request} is ${now}, and then ${to}`);
    this.claims.set(request, to);
  }

  /** `bytes` of a passed answer have left the core's front, or, below 0, have met the socket. */
  pass(request: number, bytes: number): void {
    const onTheWay = (this.#onTheWay.get(request) ?? 0) + bytes;
    if (onTheWay > WINDOW_BYTES) throw new Error(`${onTheWay} bytes of ${request} are on the way`);
    this.#onTheWay.set(request, onTheWay);
  }

  /** Mostly small, at times larger than a ring and than what a turn takes. */
  size(largest: number): number {
    const { random } = this;
    return random.between(0, random.chance(0.1) ? largest : 200);
  }
}

// --- the core's side -----------------------------------------------------------------------------

/** A request that the broker has: `go` takes it further, and returns true at its end. */
interface Pending {
  readonly request: number;
  /** Whether it is given up with its client. */
  readonly stops: boolean;
  readonly go: () => boolean;
}

export class Broker implements CoreService {
  readonly #model: Model;
  readonly #largest: number;
  readonly pending = new Set<Pending>();
  readonly kv = {
    call: (): never => {
      throw new Error('nothing is asked of key/value');
    },
  };

  constructor(model: Model, largest: number) {
    this.#model = model;
    this.#largest = largest;
  }

  submit(command: SubmittedCommand, reply: Reply<SubmittedOutcome>): void {
    if (command.kind !== 'push') throw new Error(`a ${command.kind} has come`);
    const request = Number(command.transactionIds[0]);
    expect(areBytesOf(request, command.body)).toBe(true);
    this.#keep(request, false, () => {
      if (!this.#model.applied.has(request)) {
        this.#model.apply(request);
        return false;
      }
      const count = this.#model.size(this.#largest) >>> 5;
      const messageIds = Array.from({ length: count }, () => uuidOf(request));
      const isSent = reply.send({ kind: 'pushed', status: new Uint8Array(count), messageIds });
      expect(isSent).toBe(!reply.gone);
      return true;
    });
  }

  pop(command: PopCommand, reply: PopReply): void {
    this.#pop(Number(command.consumerGroup), reply, (popped) => reply.send(popped));
  }

  ackAndPop(acks: AckCommand, command: PopCommand, reply: BothReply): void {
    const request = Number(command.consumerGroup);
    expect(acks.items.map(({ transactionId }) => transactionId)).toEqual([`${request}`]);
    this.#model.apply(request);
    const acked = { kind: 'acked', items: [VERDICT] } as const;
    this.#pop(request, reply, (popped) => reply.send({ kind: 'acked-pop', acked, popped }));
  }

  giveBack({ leaseId }: { leaseId: string }): void {
    this.#model.claim(requestOf(leaseId), 'on its way', 'given back');
  }

  /** Takes one request further. */
  step(): void {
    const all = [...this.pending];
    const one = all[this.#model.random.between(0, all.length - 1)];
    if (one?.go() === true) this.pending.delete(one);
  }

  #keep(request: number, stops: boolean, go: () => boolean): Pending {
    const one = { request, stops, go };
    this.pending.add(one);
    return one;
  }

  #pop(request: number, reply: PopReply | BothReply, send: (popped: PopAnswer) => boolean): void {
    const { random } = this.#model;
    let isWaiting = false;
    const one = this.#keep(request, true, () => {
      if (isWaiting) return false;
      if (random.chance(0.2)) return !send(REFUSED) || true;
      const payload = bytesOf(request, this.#model.size(this.#largest));
      if (reply.room?.reserve(payload.length) === false) {
        isWaiting = true;
        reply.room.wait(payload.length, 1000, (hasRoom) => {
          isWaiting = false;
          if (hasRoom || !this.pending.delete(one)) return;
          send(REFUSED);
        });
        return false;
      }
      this.#model.claim(request, undefined, 'on its way');
      if (!send(deliveredOf(request, payload))) {
        this.#model.claim(request, 'on its way', 'given back');
      }
      return true;
    });
    reply.onGone = () => {
      expect(this.pending.delete(one), `${request} has an answer and goes`).toBe(true);
    };
  }
}

const VERDICT = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };
const REFUSED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'no_leader', error: 'nobody leads' },
};

export function uuidOf(request: number): string {
  return `0193f2a0-7b1c-7000-8000-${`${request}`.padStart(12, '0')}`;
}

function requestOf(uuid: string): number {
  return Number(uuid.slice(-12));
}

function deliveredOf(request: number, payload: Uint8Array): DeliveredOutcome {
  const batch = {
    bytes: payload,
    payloadStart: [0],
    payloadEnd: [payload.length],
    stampUs: 1,
    baseOffset: request,
    first: 0,
    last: 0,
    transactionIds: [null],
    producerSubs: null,
    traceIds: null,
    messageIds: null,
  };
  return {
    kind: 'delivered',
    leaseId: uuidOf(request),
    claims: [
      { queue: 'q', partition: 'p', partitionNumber: 7, deliveryAttempt: 1, batches: [batch] },
    ],
    terms: { conflation: false, conflationConflict: false, autopilot: null },
  };
}

/** The core's own front: answers what is passed on piece by piece. */
export class CoreFront {
  readonly #model: Model;
  readonly largest: number;
  readonly open = new Set<OpenCall>();

  constructor(model: Model, largest: number) {
    this.#model = model;
    this.largest = largest;
  }

  call(request: CallRequest, client: CallClient): MemoryCall {
    const number = Number(request.target.slice(1));
    this.#model.apply(number);
    expect(request.body === null || areBytesOf(number, request.body as Uint8Array)).toBe(true);
    const call = new OpenCall(number, this.#model, client, this);
    this.open.add(call);
    return call;
  }

  step(): void {
    const all = [...this.open];
    all[this.#model.random.between(0, all.length - 1)]?.step();
  }
}

class OpenCall implements MemoryCall {
  readonly request: number;
  readonly stops = true;
  readonly #model: Model;
  readonly #client: CallClient;
  readonly #bytes: Uint8Array;
  readonly #front: CoreFront;
  #hasHead = false;
  #isBlocked = false;
  #given = 0;

  constructor(request: number, model: Model, client: CallClient, front: CoreFront) {
    this.request = request;
    this.#model = model;
    this.#client = client;
    this.#bytes = bytesOf(request, model.size(2 * front.largest));
    this.#front = front;
  }

  step(): void {
    const { random } = this.#model;
    if (random.chance(0.02)) this.#end(() => this.#client.onBroken());
    else if (!this.#hasHead) {
      this.#hasHead = true;
      this.#client.onHead({ ...HEAD, length: this.#bytes.length });
    } else if (this.#given === this.#bytes.length) this.#end(() => this.#client.onEnd());
    else if (!this.#isBlocked) {
      const bytes = this.#bytes.subarray(this.#given, this.#given + random.between(1, 60_000));
      const taken = this.#client.onBytes(bytes);
      this.#given += taken;
      this.#model.pass(this.request, taken);
      this.#isBlocked = taken < bytes.length;
    }
  }

  #end(tell: () => void): void {
    if (this.#front.open.delete(this)) tell();
  }

  sendBody(): boolean {
    throw new Error('bodies come whole');
  }

  takesMore(): void {
    this.#isBlocked = false;
  }

  abort(): void {
    this.#front.open.delete(this);
  }
}

// --- the thread's side ---------------------------------------------------------------------------

/** An exchange of the thread, with its client. */
export class Client {
  readonly owner: string;
  readonly request: number;
  readonly #model: Model;
  #state: 'open' | 'answering' | 'answered' | 'gone' = 'open';
  onGone: (() => void) | null = null;
  onTaken: (() => void) | null = null;
  /** Nothing is asked of the gate. */
  readonly demand = null;
  /** Writes more of an answer that is passed on to the socket. */
  #onWritable: ((offset: number) => boolean) | null = null;
  #isBlocked = false;
  #written = 0;
  #told = 0;
  #length = 0;

  constructor(request: number, model: Model) {
    this.request = request;
    this.#model = model;
    this.owner = OWNERS[request % OWNERS.length] ?? '';
  }

  get gone(): boolean {
    return this.#state === 'gone';
  }

  get hasEnded(): boolean {
    return this.#state === 'answered' || this.gone;
  }

  send(answer: SubmittedOutcome | PopAnswer | AckedPop): boolean {
    if (this.gone) return false;
    expect(this.#state, `request ${this.request} has an answer`).toBe('open');
    const outcome = answer.kind === 'acked-pop' ? answer.popped : answer;
    if (outcome.kind === 'pushed') {
      expect(outcome.messageIds.every((id) => id === uuidOf(this.request))).toBe(true);
      expect(this.#model.applied.has(this.request)).toBe(true);
    } else if (outcome.kind === 'delivered') {
      const [batch] = outcome.claims[0]?.batches ?? [];
      expect(areBytesOf(this.request, batch?.bytes ?? new Uint8Array([1]))).toBe(true);
      this.#model.claim(requestOf(outcome.leaseId), 'on its way', 'delivered');
      expect(requestOf(outcome.leaseId)).toBe(this.request);
    } else expect(outcome).toEqual(REFUSED);
    this.#state = 'answering';
    if (this.#model.random.chance(0.5)) this.take();
    return true;
  }

  keepOfBody(): void {}

  pass(answer: PassedAnswer): void {
    expect(this.#state, `request ${this.request} has an answer`).toBe('open');
    this.#state = 'answering';
    this.#length = answer.head.length ?? 0;
    const socket = {
      writeStatus: () => socket,
      writeHeader: () => socket,
      endWithoutBody: () => socket,
      end: () => socket,
      onWritable: (handler: (offset: number) => boolean) => {
        this.#onWritable = handler;
        return socket;
      },
      tryEnd: (bytes: Uint8Array) => this.#write(bytes),
    };
    answer.writeTo(socket as never, false, false, (part) => {
      if (!this.hasEnded && part()) this.#settle('answered');
    });
  }

  /** Takes the whole answer or, of one that is passed on, more of it. */
  take(): void {
    if (this.#state !== 'answering') return;
    if (this.#onWritable === null) this.#settle('answered');
    else if (this.#isBlocked) {
      this.#isBlocked = false;
      this.#tell();
      this.#onWritable(this.#written);
    }
  }

  leave(): void {
    if (this.hasEnded) return;
    const onGone = this.#state === 'open' ? this.onGone : null;
    this.#settle('gone');
    onGone?.();
  }

  cutOff(): void {
    this.leave();
  }

  #write(bytes: Uint8Array): [boolean, boolean] {
    const { random } = this.#model;
    const isWhole = random.chance(0.7);
    const taken = isWhole ? bytes.length : random.between(0, bytes.length - 1);
    expect(areBytesOf(this.request, bytes, this.#written), 'bytes in order').toBe(true);
    this.#written += taken;
    // A socket that took only a part takes the rest at some later time.
    if (isWhole) this.#tell();
    this.#isBlocked = !isWhole;
    return [isWhole, isWhole && this.#written === this.#length];
  }

  #tell(): void {
    this.#model.pass(this.request, this.#told - this.#written);
    this.#told = this.#written;
  }

  #settle(state: 'answered' | 'gone'): void {
    this.#state = state;
    this.onGone = null;
    this.onTaken?.();
  }
}
