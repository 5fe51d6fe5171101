/**
 * What other nodes ask about ephemeral queues (state-surfaces 4.5, 8). Such a call has been passed
 * on once: it is done here, or refused, and never passed on again.
 */
import { GuardedReader } from '@svc/engine';
import type { RingPlace } from '@svc/ephemeral';
import { DEFAULT_PARTITION } from '@svc/wire';
import type { PeerCalls } from '../peers/calls.js';
import type { ServedCall } from '../peers/served-calls.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { EphemeralAdoption } from './adoption.js';
import { adoptedParts, readAdopt } from './carried-frames.js';
import {
  ackedParts,
  answerWordBytes,
  answerWriter,
  type EphemeralAnswerWord,
  poppedParts,
  readAck,
  readAsk,
  readGiveBack,
  readNumber,
  readPop,
  readPush,
  readReset,
  readyParts,
} from './frames.js';
import { type LocalRings, messageOf, placeOfAcks } from './local.js';
import type { EphemeralPlacement } from './placement.js';

export interface EphemeralServerOptions {
  readonly calls: PeerCalls;
  readonly clock: Clock;
  readonly epoch: number;
  readonly rings: LocalRings;
  readonly placement: EphemeralPlacement;
  readonly adoption: EphemeralAdoption;
  readonly reset: (tenant: string, queue: string) => void;
  /** Runs `work` when this node has applied the entry at `index`. */
  readonly whenApplied: (index: number, work: () => void) => void;
}

const DONE = [answerWordBytes('done')];

export class EphemeralServer {
  readonly #options: EphemeralServerOptions;
  #stopServing: Cancel = () => {};

  constructor(options: EphemeralServerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stopServing = this.#options.calls.serve('ephemeral', (call) => this.#serve(call));
  }

  stop(): void {
    this.#stopServing();
  }

  #serve(call: ServedCall): void {
    const r = new GuardedReader(call.body);
    switch (readAsk(r)) {
      case 'push':
        this.#push(call, r);
        break;
      case 'pop':
        this.#pop(call, r);
        break;
      case 'ack':
        this.#ack(call, r);
        break;
      case 'give-back':
        this.#giveBack(call, r);
        break;
      case 'reset':
        this.#reset(call, r);
        break;
      case 'applied':
        this.#applied(call, r);
        break;
      case 'ready':
        this.#ready(call);
        break;
      case 'leaving':
        this.#leaving(call, r);
        break;
      case 'adopt':
        this.#adopt(call, r);
        break;
      case null:
        end(call, 'content');
    }
  }

  #push(call: ServedCall, r: GuardedReader): void {
    const asked = readPush(r);
    if (asked === null) end(call, 'content');
    else if (!this.#owns(asked.place)) end(call, 'owner_moved');
    else end(call, this.#options.rings.push(asked.place, asked.payloads) ?? 'done');
  }

  #pop(call: ServedCall, r: GuardedReader): void {
    const { clock, rings } = this.#options;
    const asked = readPop(r, clock.nowMs());
    if (asked === null) {
      end(call, 'content');
      return;
    }
    const { tenant, queue, group, partition } = asked;
    if (!this.#owns({ tenant, queue, partition: partition ?? DEFAULT_PARTITION })) {
      end(call, 'owner_moved');
      return;
    }
    const outcome = rings.pop(asked, call, (popped) => {
      if (popped === 'moved' || popped === 'no-room') {
        end(call, popped === 'moved' ? 'owner_moved' : 'ephemeral_unavailable');
        return;
      }
      if (call.answer(poppedParts(popped)) || popped.length === 0 || asked.autoAck) return;
      rings.giveBack({ tenant, queue, group, ids: popped.map((one) => messageOf(one).id) });
    });
    if (typeof outcome === 'string') end(call, outcome);
    else call.onGone = outcome;
  }

  #ack(call: ServedCall, r: GuardedReader): void {
    const asked = readAck(r);
    if (asked === null) end(call, 'content');
    else if (!this.#owns(placeOfAcks(asked))) end(call, 'owner_moved');
    else call.answer(ackedParts(this.#options.rings.ack(asked)));
  }

  #giveBack(call: ServedCall, r: GuardedReader): void {
    const asked = readGiveBack(r);
    if (asked !== null) this.#options.rings.giveBack(asked);
    end(call, asked === null ? 'content' : 'done');
  }

  #reset(call: ServedCall, r: GuardedReader): void {
    const asked = readReset(r);
    if (asked !== null) this.#options.reset(asked.tenant, asked.queue);
    end(call, asked === null ? 'content' : 'done');
  }

  #applied(call: ServedCall, r: GuardedReader): void {
    const index = readNumber(r);
    if (index === null) end(call, 'content');
    else this.#options.whenApplied(index, () => call.answer(DONE));
  }

  #ready(call: ServedCall): void {
    const { placement, epoch } = this.#options;
    // Not ready and leaving are alike to whoever asks: this node does not count.
    if (!placement.serves || placement.isLeaving) end(call, 'owner_moved');
    else call.answer(readyParts(epoch));
    placement.hearQuestion(call.from);
  }

  #leaving(call: ServedCall, r: GuardedReader): void {
    const epoch = readNumber(r);
    if (epoch !== null) this.#options.placement.hearLeaving(call.from, epoch);
    end(call, epoch === null ? 'content' : 'done');
  }

  #adopt(call: ServedCall, r: GuardedReader): void {
    const { clock, adoption } = this.#options;
    const asked = readAdopt(r, clock.nowMs());
    if (asked === null) end(call, 'content');
    else call.answer(adoptedParts(answerWriter(), adoption.adopt(call.from, asked)));
  }

  #owns(place: RingPlace): boolean {
    return this.#options.placement.owns(place);
  }
}

function end(call: ServedCall, verdict: EphemeralAnswerWord): void {
  call.answer([answerWordBytes(verdict)]);
}
