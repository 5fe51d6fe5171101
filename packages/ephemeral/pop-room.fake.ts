/** Room as a test has it: as much as it says, and whoever found none is told apart. */
import type { PopRoom } from './pop-room.js';

export class FakeRoom implements PopRoom {
  bytesFor: (ticket: object) => number = () => Number.POSITIVE_INFINITY;
  /** Whether the turn has answered enough. */
  isSpent: () => boolean = () => false;
  readonly claims: { readonly ticket: object; readonly bytes: number }[] = [];
  /** Tickets to be tried again, with the bytes that they need; 0: they were put off. */
  readonly told = new Map<object, number>();

  claimed(ticket: object, bytes: number): void {
    this.claims.push({ ticket, bytes });
    this.told.delete(ticket);
  }

  starved(ticket: object, bytes: number): void {
    this.told.set(ticket, bytes);
  }

  postpones(ticket: object): boolean {
    if (!this.isSpent()) return false;
    this.told.set(ticket, 0);
    return true;
  }

  /** All there can be, from here on, for those who were told. */
  free(retry: (ticket: object) => void): void {
    this.bytesFor = () => Number.POSITIVE_INFINITY;
    this.isSpent = () => false;
    const told = [...this.told.keys()];
    this.told.clear();
    for (const ticket of told) retry(ticket);
  }
}
