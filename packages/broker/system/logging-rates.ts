/** What the node did, as one line every now and then (`SVC_LOG_RATES_MS`). */
import type { Cancel, Clock } from './clock.js';
import type { Logger } from './logging.js';
import { harmless } from './rim-timer.js';

/** Counts since the start of the process, by name. */
export type Totals = Readonly<Record<string, number>>;

/**
 * Logs by how much each total grew, per second, since the line before: `pushMessages=1200.5`; and
 * in a line below it how large things are now. While nothing moves nothing is logged. Gives the
 * function that stops it.
 */
export function logRates(
  parts: { readonly clock: Clock; readonly logger: Logger },
  intervalMs: number,
  totals: () => Totals,
  sizes: () => Totals | null = () => null,
): Cancel {
  const { clock, logger } = parts;
  let before = { ...totals() };
  const tell = () => {
    const now = { ...totals() };
    const rates = ratesBetween(before, now, intervalMs);
    before = now;
    if (rates === null) return;
    logger.info('rates', 'per second', rates);
    const large = sizes();
    if (large !== null) logger.info('rates', 'sizes', large);
  };
  return clock.every(intervalMs, harmless(parts, 'collecting rates', tell));
}

/** Per second, to a tenth; totals that stood still are left out. Null when all of them did. */
export function ratesBetween(before: Totals, now: Totals, elapsedMs: number): Totals | null {
  const rates: { [name: string]: number } = {};
  for (const [name, total] of Object.entries(now)) {
    const grown = total - (before[name] ?? 0);
    if (grown !== 0) rates[name] = Math.round((grown * 10_000) / elapsedMs) / 10;
  }
  return Object.keys(rates).length === 0 ? null : rates;
}
