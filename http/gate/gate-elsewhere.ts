/**
 * In place of the gate, in a front whose commands go to another thread (`server/elsewhere.ts`): a
 * demand is kept in its exchange until the command takes it along, and the gate there judges it. So
 * a tenant has one bucket and one charge in a node, whichever thread serves it.
 *
 * A call whose shape is faulty has no command, but a gate may have a reason that comes before it
 * (state-surfaces 0.4), and it costs a token: so the gate is asked for itself.
 */
import type { Demand, OpenDemand, Refuse } from '../base/demand.js';
import type { Exchange } from '../exchange/exchange.js';
import { type CallGate, NOTHING_OWED, type Pass, type QuotaFigures } from './gate.js';
import { gateRefuser } from './gate-refusal.js';

/** Asks the gate that is elsewhere; `answer` runs if the call is let in. */
export type AskGate = (exchange: Exchange, open: OpenDemand, answer: () => void) => void;

export class GateElsewhere implements CallGate {
  readonly #ask: AskGate;

  constructor(ask: AskGate) {
    this.#ask = ask;
  }

  enter(
    exchange: Exchange,
    tenant: string,
    demand: Demand,
    refuse: Refuse = gateRefuser(exchange, demand),
  ): Pass {
    exchange.demand = { tenant, demand, refuse };
    return NOTHING_OWED;
  }

  faulty(exchange: Exchange, _: Pass, answer: () => void): void {
    const { demand } = exchange;
    if (demand === null) answer();
    else this.#ask(exchange, demand, answer);
  }

  /** The grant is looked at with the command. */
  timerHorizonSeconds(_: string, configuredSeconds: number): number {
    return configuredSeconds;
  }

  quotaFigures(): QuotaFigures {
    return { tenants: 0, ageMs: null, hot: 0 };
  }
}
