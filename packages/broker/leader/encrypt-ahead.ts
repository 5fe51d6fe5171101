/**
 * Encrypts the payloads of large commands before they are planned.
 *
 * The job: a message costs about 10 us to encrypt (message-plane 11.5), a command may bring 100,000
 * of them, and a turn of the loop plans a command as a whole: for a second nobody would be
 * answered, and no heartbeat sent. So what takes long is done beforehand, in slices with turns in
 * between.
 *
 * What must hold:
 * - It is a guess: what the queue asks for when the message gets its place only planning knows. An
 *   envelope that is not wanted by then is not taken, and one that is missing is made in the turn.
 * - A command that is under way here is known: who asks again must not hear a definite refusal of
 *   something that will be planned.
 * - One command at a time, in the order of their arrival: envelopes take a multiple of the room
 *   that was admitted for a body of small messages.
 * - A leadership that ends forgets all of it, as it forgets what waits to be planned.
 */
import {
  type Command,
  findQueue,
  type PayloadCipher,
  type PushCommand,
  type RequestOrigin,
  type State,
} from '@svc/engine';
import type { Cancel, Clock } from '../system/clock.js';

export interface EncryptAheadOptions {
  readonly cipher: PayloadCipher;
  readonly clock: Clock;
  /** As planned. */
  readonly state: State;
}

/** Messages of a slice: 400 * 10 us = 4 ms. A command with as many is planned at once. */
const SLICE_MESSAGES = 400;

type Envelopes = (Uint8Array | undefined)[];

interface Waiting {
  readonly command: Command;
  readonly push: PushCommand;
  readonly origin: RequestOrigin | null;
  readonly done: (sealed: Command) => void;
}

export class EncryptAhead {
  readonly #options: EncryptAheadOptions;
  /** The first one is being encrypted. */
  #line: Waiting[] = [];
  #cancelSlice: Cancel | null = null;

  constructor(options: EncryptAheadOptions) {
    this.#options = options;
  }

  get idle(): boolean {
    return this.#line.length === 0;
  }

  /** A command of this id is being encrypted, or waits for that. */
  knows({ session, sequence }: RequestOrigin): boolean {
    return this.#line.some(
      ({ origin }) => origin?.sequence === sequence && origin.session === session,
    );
  }

  /**
   * True: `done` runs later with the command to be planned in the place of this one. False: it can
   * be planned as it is.
   */
  takes(command: Command, origin: RequestOrigin | null, done: (sealed: Command) => void): boolean {
    const push = pushesOf(command);
    if (push === null || push.itemGroup.length <= SLICE_MESSAGES) return false;
    if (!this.#sealingGroups(push).includes(true)) return false;
    this.#line.push({ command, push, origin, done });
    if (this.#line.length === 1) this.#begin();
    return true;
  }

  /** Nothing is handed on any more. */
  stop(): void {
    this.#cancelSlice?.();
    this.#cancelSlice = null;
    this.#line = [];
  }

  #begin(): void {
    const [first] = this.#line;
    if (first === undefined) return;
    const envelopes: Envelopes = new Array(first.push.itemGroup.length);
    this.#seal(first, this.#sealingGroups(first.push), envelopes, 0);
  }

  #sealingGroups({ tenant, groups }: PushCommand): boolean[] {
    const { state } = this.#options;
    let last: string | null = null;
    let isEncrypting = false;
    return groups.map(({ queue }) => {
      if (queue !== last) {
        isEncrypting = findQueue(state, tenant, queue)?.options.encryptionEnabled === true;
        last = queue;
      }
      return isEncrypting;
    });
  }

  #seal(one: Waiting, isEncrypting: readonly boolean[], envelopes: Envelopes, from: number): void {
    const { cipher, clock } = this.#options;
    const { itemGroup, body, payloadStart, payloadEnd } = one.push;
    this.#cancelSlice = clock.soon(() => {
      this.#cancelSlice = null;
      let item = from;
      for (let left = SLICE_MESSAGES; left > 0 && item < envelopes.length; item++) {
        if (isEncrypting[itemGroup[item] ?? 0] !== true) continue;
        envelopes[item] = cipher.seal(body.subarray(payloadStart[item], payloadEnd[item]));
        left--;
      }
      if (item < envelopes.length) {
        this.#seal(one, isEncrypting, envelopes, item);
        return;
      }
      one.done(withEnvelopes(one, envelopes));
      this.#line.shift();
      this.#begin();
    });
  }
}

function pushesOf(command: Command): PushCommand | null {
  if (command.kind === 'push') return command;
  return command.kind === 'transaction' ? command.pushes : null;
}

function withEnvelopes({ command, push }: Waiting, envelopes: Envelopes): Command {
  const sealed = { ...push, envelopes };
  return command.kind === 'transaction' ? { ...command, pushes: sealed } : sealed;
}
