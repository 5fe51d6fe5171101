/** Settles a pass with the outcome of its call, whether the client is there to hear it or not. */
import type { AnswerRoom } from '../exchange/answer-budget.js';
import type { Reply } from '../ports/service.js';
import type { Pass, PassOutcome } from './gate.js';

export class GatedReply<Answer extends PassOutcome> implements Reply<Answer> {
  readonly #pass: Pass;
  readonly #reply: Reply<Answer>;

  constructor(pass: Pass, reply: Reply<Answer>) {
    this.#pass = pass;
    this.#reply = reply;
  }

  get gone(): boolean {
    return this.#reply.gone;
  }

  get onGone(): (() => void) | null {
    return this.#reply.onGone;
  }

  set onGone(hook: (() => void) | null) {
    this.#reply.onGone = hook;
  }

  get room(): AnswerRoom | undefined {
    return this.#reply.room;
  }

  send(answer: Answer): boolean {
    this.#pass.settle(answer);
    return this.#reply.send(answer);
  }
}
