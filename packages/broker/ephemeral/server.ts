/**
 * Answers what other nodes ask about ephemeral queues. Such a call has been passed on once: it is
 * done here, or refused, and never passed on again.
 */
import type { EphemeralPop } from '@svc/http';
import { DEFAULT_PARTITION } from '@svc/wire';
import type { PeerCalls } from '../peers/calls.js';
import type { ServedCall } from '../peers/served-calls.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { EphemeralAdoption } from './adoption.js';
import {
  type AnswerRefusal,
  adoptOf,
  answerParts,
  payloadsOf,
  popOf,
  poppedParts,
  readQuestion,
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

const DONE = answerParts({ kind: 'done' });

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
    const { clock, rings, placement, adoption, epoch } = this.#options;
    const heard = readQuestion(call.body);
    if (heard === null) {
      refuse(call, 'content');
      return;
    }
    const { said, payloads } = heard;
    switch (said.ask) {
      case 'push': {
        const isMine = placement.owns(said);
        const refusal = isMine ? rings.push(said, payloadsOf({ said, payloads })) : 'owner_moved';
        if (refusal === null) call.answer(DONE);
        else refuse(call, refusal);
        return;
      }
      case 'pop':
        this.#pop(call, popOf(said, clock.nowMs()));
        return;
      case 'ack':
        if (!placement.owns(placeOfAcks(said))) refuse(call, 'owner_moved');
        else call.answer(answerParts({ kind: 'acked', outcomes: rings.ack(said) }));
        return;
      case 'give-back':
        rings.giveBack(said);
        call.answer(DONE);
        return;
      case 'reset':
        this.#options.reset(said.tenant, said.queue);
        call.answer(DONE);
        return;
      case 'applied':
        this.#options.whenApplied(said.index, () => call.answer(DONE));
        return;
      case 'ready':
        // Not ready and leaving are alike to whoever asks: this node does not count.
        if (!placement.serves || placement.isLeaving) refuse(call, 'owner_moved');
        else call.answer(answerParts({ kind: 'ready', epoch }));
        placement.hearQuestion(call.from);
        return;
      case 'leaving':
        placement.hearLeaving(call.from, said.epoch);
        call.answer(DONE);
        return;
      case 'adopt': {
        const refused = adoption.adopt(call.from, adoptOf({ said, payloads }, clock.nowMs()));
        call.answer(answerParts({ kind: 'adopted', refused }));
      }
    }
  }

  #pop(call: ServedCall, asked: EphemeralPop): void {
    const { rings, placement } = this.#options;
    const { tenant, queue, group, partition } = asked;
    if (!placement.owns({ tenant, queue, partition: partition ?? DEFAULT_PARTITION })) {
      refuse(call, 'owner_moved');
      return;
    }
    const outcome = rings.pop(asked, call, (popped) => {
      if (popped === 'moved' || popped === 'no-room') {
        refuse(call, popped === 'moved' ? 'owner_moved' : 'ephemeral_unavailable');
        return;
      }
      if (call.answer(poppedParts(popped)) || popped.length === 0 || asked.autoAck) return;
      rings.giveBack({ tenant, queue, group, ids: popped.map((one) => messageOf(one).id) });
    });
    if (typeof outcome === 'string') refuse(call, outcome);
    else call.onGone = outcome;
  }
}

function refuse(call: ServedCall, code: AnswerRefusal): void {
  call.answer(answerParts({ kind: 'refused', code }));
}
