/**
 * Messages between the nodes of a scenario. Nothing arrives by itself: they wait, in the order in
 * which they were sent, until the script delivers, drops, repeats or delays them.
 */
import type { NodeId } from '../../identifiers.js';
import { nodeId } from '../../identifiers.js';
import { SENT_KINDS } from '../../message-codec.js';
import type { Message } from '../../messages.js';
import { ScriptError, type Words } from './words.js';

/** Which messages a command means; undefined = any. */
export interface Selection {
  readonly from: NodeId | undefined;
  readonly to: NodeId | undefined;
  readonly kind: Message['type'] | undefined;
  /** Selects only the oldest or the newest of the messages that fit. */
  readonly only: 'first' | 'last' | undefined;
}

export const ALL: Selection = { from: undefined, to: undefined, kind: undefined, only: undefined };

/** `[from>to] [kind] [first | last]`, where from or to may be `*`; nothing means all. */
export function selectionOf(words: Words): Selection {
  let { from, to, kind, only } = ALL;
  while (!words.ended) {
    const word = words.take();
    const link = /^(\d+|\*)>(\d+|\*)$/.exec(word);
    if (link !== null) {
      from = endOf(link[1]);
      to = endOf(link[2]);
    } else if (word === 'first' || word === 'last') {
      only = word;
    } else {
      kind = SENT_KINDS.find((known) => known === word);
      if (kind === undefined) throw new ScriptError(`"${word}" is no kind of message`);
    }
  }
  return { from, to, kind, only };
}

function endOf(word: string | undefined): NodeId | undefined {
  return word === undefined || word === '*' ? undefined : nodeId(Number(word));
}

export class Mail {
  #waiting: Message[] = [];
  /** Out of reach of deliveries until the script lets them go on. */
  #delayed: Message[] = [];
  /** Ordered pairs "from>to" that let nothing through. */
  readonly #cut: Set<string> = new Set();

  get waiting(): readonly Message[] {
    return this.#waiting;
  }

  get delayed(): readonly Message[] {
    return this.#delayed;
  }

  cut(from: number, to: number): void {
    this.#cut.add(`${from}>${to}`);
  }

  heal(): void {
    this.#cut.clear();
  }

  /** False when the way is cut: the message is lost. */
  send(message: Message): boolean {
    if (this.#cut.has(`${message.from}>${message.to}`)) return false;
    this.#waiting.push(message);
    return true;
  }

  take(selection: Selection): readonly Message[] {
    const { taken, left } = divided(this.#waiting, selection);
    this.#waiting = left;
    return taken;
  }

  duplicate(selection: Selection): readonly Message[] {
    const { taken } = divided(this.#waiting, selection);
    // Copies: what is taken later is told apart by identity.
    for (const message of taken) this.#waiting.push({ ...message });
    return taken;
  }

  delay(selection: Selection): readonly Message[] {
    const taken = this.take(selection);
    for (const message of taken) this.#delayed.push(message);
    return taken;
  }

  /** What was delayed waits again, behind everything else. */
  resume(selection: Selection): readonly Message[] {
    const { taken, left } = divided(this.#delayed, selection);
    this.#delayed = left;
    for (const message of taken) this.#waiting.push(message);
    return taken;
  }

  /** Reverses the messages that fit among themselves: the newest comes first. */
  reverse(selection: Selection): void {
    const backwards = divided(this.#waiting, selection).taken.slice().reverse();
    const moved = new Set(backwards);
    this.#waiting = this.#waiting.map((message) =>
      moved.has(message) ? (backwards.shift() ?? message) : message,
    );
  }
}

function divided(
  messages: readonly Message[],
  { from, to, kind, only }: Selection,
): { readonly taken: Message[]; readonly left: Message[] } {
  const fitting = messages.filter(
    (message) =>
      (from === undefined || message.from === from) &&
      (to === undefined || message.to === to) &&
      (kind === undefined || message.type === kind),
  );
  const one = only === 'first' ? fitting.slice(0, 1) : fitting.slice(-1);
  const taken = only === undefined ? fitting : one;
  const chosen = new Set(taken);
  return { taken, left: messages.filter((message) => !chosen.has(message)) };
}
