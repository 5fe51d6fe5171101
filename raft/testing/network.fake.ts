/** Messages under way between nodes: lost, repeated, delayed and so reordered, as asked for. */
import type { NodeId } from '../identifiers.js';
import type { Message } from '../messages.js';
import type { Chance } from './chance.js';

export interface Weather {
  readonly lossProbability: number;
  readonly repeatProbability: number;
  readonly delayMsMax: number;
  /** Some messages take this long, past elections and restarts. */
  readonly stragglerProbability: number;
  readonly stragglerMsMax: number;
}

export const CALM: Weather = {
  lossProbability: 0,
  repeatProbability: 0,
  delayMsMax: 0,
  stragglerProbability: 0,
  stragglerMsMax: 0,
};

interface UnderWay {
  readonly arriveMs: number;
  readonly message: Message;
}

export class FakeNetwork {
  readonly #chance: Chance;
  #underWay: UnderWay[] = [];
  /** Ordered pairs "from>to" that let nothing through. */
  readonly #cut: Set<string> = new Set();
  weather: Weather = CALM;
  /** Kept for tests that look at what was said. */
  readonly sent: Message[] = [];

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  get quiet(): boolean {
    return this.#underWay.length === 0;
  }

  cut(from: NodeId, to: NodeId): void {
    this.#cut.add(`${from}>${to}`);
  }

  cutBoth(one: NodeId, other: NodeId): void {
    this.cut(one, other);
    this.cut(other, one);
  }

  /** Undoes a cut between two nodes. */
  join(one: NodeId, other: NodeId): void {
    this.#cut.delete(`${one}>${other}`);
    this.#cut.delete(`${other}>${one}`);
  }

  heal(): void {
    this.#cut.clear();
  }

  send(message: Message, nowMs: number): void {
    const { lossProbability, repeatProbability, delayMsMax } = this.weather;
    const { stragglerProbability, stragglerMsMax } = this.weather;
    this.sent.push(message);
    if (this.#chance.hits(lossProbability)) return;
    const copies = this.#chance.hits(repeatProbability) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      const late = this.#chance.hits(stragglerProbability);
      const arriveMs = nowMs + this.#chance.between(0, late ? stragglerMsMax : delayMsMax);
      this.#underWay.push({ arriveMs, message });
    }
  }

  /** What has arrived by now. A cut swallows what would have passed it. */
  receive(nowMs: number): readonly Message[] {
    const arrived: UnderWay[] = [];
    const later: UnderWay[] = [];
    for (const one of this.#underWay) (one.arriveMs <= nowMs ? arrived : later).push(one);
    this.#underWay = later;
    arrived.sort((one, other) => one.arriveMs - other.arriveMs);
    return arrived
      .map((one) => one.message)
      .filter((message) => !this.#cut.has(`${message.from}>${message.to}`));
  }
}
