/**
 * Key/value over the engine's own planner, in one thread and with a clock that the test sets. Calls
 * wait until the test lets one of them happen, so it chooses how those of several clients mix.
 */
import {
  applyEntry,
  type KvCall,
  type KvOutcome,
  kvWrites,
  MapState,
  Planner,
  type RefusedOutcome,
  readKv,
} from '@svc/engine';
import type { Reply } from '@svc/http';
import type { KvRequests } from '../service/kv-requests.js';

type KvReply = Reply<KvOutcome | RefusedOutcome>;

const NO_TRANSACTIONS = { find: () => [], insertBytes: () => {} };

export class EngineKv implements Pick<KvRequests, 'call'> {
  wallUs = 1_800_000_000_000_000;
  /** Calls that were made and have not happened, oldest first. */
  readonly waiting: {
    readonly call: KvCall;
    readonly reply: KvReply;
    readonly deadlineMs: number;
  }[] = [];
  /** In the order in which they happened. */
  readonly calls: KvCall[] = [];
  /** Set: every call ends so from now on. */
  refusal: RefusedOutcome | null = null;
  /** Runs before a call happens. */
  before: (call: KvCall) => void = () => {};
  readonly #state = new MapState();
  readonly #planner: Planner;
  #index = 0;

  constructor() {
    this.#planner = new Planner(this.#state, NO_TRANSACTIONS, {
      nodeId: 1,
      checksum: () => 0,
      newUuid: () => '00000000-0000-7000-8000-000000000000',
      readLog: () => new Uint8Array(),
      cipher: null,
    });
  }

  call(call: KvCall, reply: KvReply, deadlineMs = Number.POSITIVE_INFINITY): void {
    this.waiting.push({ call, reply, deadlineMs });
  }

  /** Lets one of the waiting calls happen. */
  step(at = 0): void {
    const [next] = this.waiting.splice(at, 1);
    if (next === undefined) return;
    this.before(next.call);
    this.calls.push(next.call);
    next.reply.send(this.refusal ?? this.now(next.call));
  }

  /** Until nothing waits. */
  run(): void {
    while (this.waiting.length > 0) this.step();
  }

  /** A call that happens at once. */
  now(call: KvCall): KvOutcome | RefusedOutcome {
    if (!kvWrites(call)) {
      const read = readKv(this.#state, this.wallUs, call);
      for (;;) {
        const step = read.next();
        if (step.done) return step.value;
      }
    }
    const ticket = {};
    this.#planner.enqueue(call, ticket);
    const index = ++this.#index;
    this.wallUs++;
    const { body, answers } = this.#planner.turn({
      index,
      wallUs: this.wallUs,
      nowMs: this.wallUs / 1000,
    });
    if (body !== null) applyEntry(this.#state, NO_TRANSACTIONS, index, body);
    this.#planner.applied(index);
    const answer = answers.find((one) => one.ticket === ticket);
    return answer?.outcome as KvOutcome | RefusedOutcome;
  }
}
