/**
 * Calls by when they end: tens of thousands may wait, most of them end long before, and none of
 * those that do not is to be looked at until it is due.
 */

/** How late an end may be noticed. */
export const SLOT_MS = 20;

export class CallDeadlines<Call extends { readonly deadlineMs: number }> {
  /** A slot holds those that are due once its time has come. */
  readonly #slots = new Map<number, Set<Call>>();
  /** All slots before it are empty. */
  #first = 0;

  add(call: Call): void {
    const slot = slotOf(call);
    if (this.#slots.size === 0 || slot < this.#first) this.#first = slot;
    const calls = this.#slots.get(slot);
    if (calls === undefined) this.#slots.set(slot, new Set([call]));
    else calls.add(call);
  }

  remove(call: Call): void {
    const slot = slotOf(call);
    const calls = this.#slots.get(slot);
    if (calls?.delete(call) && calls.size === 0) this.#slots.delete(slot);
  }

  /** They are no longer held here. */
  takeDue(nowMs: number): Call[] {
    const due: Call[] = [];
    for (; this.#slots.size > 0 && this.#first * SLOT_MS <= nowMs; this.#first++) {
      const calls = this.#slots.get(this.#first);
      if (calls === undefined) continue;
      for (const call of calls) due.push(call);
      this.#slots.delete(this.#first);
    }
    return due;
  }
}

function slotOf({ deadlineMs }: { readonly deadlineMs: number }): number {
  return Math.ceil(deadlineMs / SLOT_MS);
}
