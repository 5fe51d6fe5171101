/**
 * Calls of other nodes that a handler here has in hand.
 *
 * What must hold: each ends once, by its answer, or because nobody waits for it any more: the
 * caller gave up, its time is over, or the connection it came by is gone. Then `onGone` runs, once,
 * and an answer that comes later goes nowhere. Calls and bytes of each node are bounded.
 */
import { CallDeadlines } from './call-deadlines.js';
import type { CallForm, CallFrame, CallKind } from './call-frames.js';

/** Sends the end of a call to its caller; false when it was dropped at once. */
export type CallAnswering = (
  call: ServedCall,
  form: CallForm,
  parts: readonly Uint8Array[],
) => boolean;

/**
 * Why nobody waits: the caller gave it up, the connection it came by is gone, or the time that the
 * caller gave it is over, and then it may have asked again already.
 */
export type GoneReason = 'cancelled' | 'lost' | 'deadline';

export class ServedCall {
  /** The number of the node that asked. */
  readonly from: number;
  readonly kind: CallKind;
  /**
   * A view of what the port read, with others in the same memory: nobody may write to it, and it
   * is there while the handler is given the call, not afterwards.
   */
  body: Uint8Array;
  readonly bytes: number;
  readonly life: number;
  readonly number: number;
  /** On the node's clock: nobody waits any longer. */
  readonly deadlineMs: number;
  /** May be set by the handler: nobody waits for the answer any more. It runs once at most. */
  onGone: ((why: GoneReason) => void) | null = null;
  readonly #end: CallAnswering;

  constructor(from: number, frame: CallFrame, nowMs: number, end: CallAnswering) {
    this.from = from;
    this.kind = frame.kind;
    this.body = frame.body;
    this.bytes = frame.body.length;
    this.life = frame.life;
    this.number = frame.number;
    this.deadlineMs = nowMs + frame.timeMs;
    this.#end = end;
  }

  /** False: nobody gets it, because the call has ended already or its node cannot be reached. */
  answer(parts: readonly Uint8Array[]): boolean {
    return this.#end(this, 'answer', parts);
  }
}

/** The calls of one process of one node, by their numbers. */
interface Caller {
  readonly life: number;
  readonly open: Map<number, ServedCall>;
}

interface CallingNode {
  count: number;
  bytes: number;
  /** Few: one, and while it restarts another. */
  callers: Caller[];
}

/** Calls of one node; its own limit in flight is lower unless an operator raised it. */
const CALLS_PER_NODE_MAX = 65_536;
/** One call always fits. */
const BYTES_PER_NODE_MAX = 512 * 1024 * 1024;

export class ServedCalls {
  readonly #nodes = new Map<number, CallingNode>();
  readonly #deadlines = new CallDeadlines<ServedCall>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(call: ServedCall): 'added' | 'repeated' | 'busy' {
    const node = this.#nodes.get(call.from) ?? { count: 0, bytes: 0, callers: [] };
    let caller = node.callers.find(({ life }) => life === call.life);
    if (caller?.open.has(call.number)) return 'repeated';
    const bytes = node.bytes + call.bytes;
    if (node.count >= CALLS_PER_NODE_MAX) return 'busy';
    if (node.count > 0 && bytes > BYTES_PER_NODE_MAX) return 'busy';
    if (caller === undefined) {
      caller = { life: call.life, open: new Map() };
      node.callers.push(caller);
    }
    caller.open.set(call.number, call);
    this.#deadlines.add(call);
    this.#nodes.set(call.from, node);
    node.count++;
    node.bytes = bytes;
    this.#count++;
    return 'added';
  }

  /** False when it has ended already. */
  remove(call: ServedCall): boolean {
    const node = this.#nodes.get(call.from);
    const caller = node?.callers.find(({ life }) => life === call.life);
    if (node === undefined || caller === undefined) return false;
    if (caller.open.get(call.number) !== call) return false;
    caller.open.delete(call.number);
    this.#deadlines.remove(call);
    node.count--;
    node.bytes -= call.bytes;
    this.#count--;
    if (node.count === 0) this.#nodes.delete(call.from);
    else if (caller.open.size === 0) node.callers = node.callers.filter((one) => one !== caller);
    return true;
  }

  find(from: number, frame: CallFrame): ServedCall | undefined {
    const caller = this.#nodes.get(from)?.callers.find(({ life }) => life === frame.life);
    return caller?.open.get(frame.number);
  }

  /** In the order they came, node by node. */
  all(): ServedCall[] {
    return [...this.#nodes.keys()].flatMap((from) => this.of(from));
  }

  of(from: number): ServedCall[] {
    const callers = this.#nodes.get(from)?.callers ?? [];
    return callers.flatMap(({ open }) => [...open.values()]);
  }

  /** Those whose time is over; they are still to be removed. */
  due(nowMs: number): ServedCall[] {
    return this.#deadlines.takeDue(nowMs);
  }
}
