/**
 * For doubles of functions that may answer before they return: runs answers at once and throws when
 * one of them leads to the next call of the same function (call-loop.ts has the rule).
 */
export class AtOnce {
  #isAnswering = false;

  answer(done: () => void): void {
    if (this.#isAnswering) {
      throw new Error('a call was made from within the answer to the one before: see call-loop.ts');
    }
    this.#isAnswering = true;
    try {
      done();
    } finally {
      this.#isAnswering = false;
    }
  }
}
