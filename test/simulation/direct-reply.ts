/** The answer to a request that is made in the process of a machine, past the clients' network. */
import type { Reply } from '@svc/http';

export class DirectReply<Answer> implements Reply<Answer> {
  gone = false;
  onGone: (() => void) | null = null;
  answer: Answer | null = null;
  readonly #onAnswer: (answer: Answer) => void;

  constructor(onAnswer: (answer: Answer) => void = () => {}) {
    this.#onAnswer = onAnswer;
  }

  send(answer: Answer): boolean {
    this.answer = answer;
    this.#onAnswer(answer);
    return !this.gone;
  }

  leave(): void {
    this.gone = true;
    this.onGone?.();
  }
}
