/**
 * Listening to a signal that many calls share: a program gives one to thousands of them. Node warns
 * of a leak from the eleventh listener on, so a signal has one, which calls what all of them want;
 * it goes with the last of them, and a signal that lives long keeps nothing.
 */
const ACTS = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `act` once, when `signal` is aborted; the function that it gives back prevents that. */
export function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  if (signal === undefined) return () => undefined;
  const acts = ACTS.get(signal) ?? listening(signal);
  // Two who want the same are two.
  const once = () => act();
  acts.add(once);
  return () => {
    if (acts.delete(once) && acts.size === 0) forget(signal);
  };
}

const actAll = (event: Event): void => {
  const signal = event.target as AbortSignal;
  const acts = ACTS.get(signal);
  forget(signal);
  for (const act of acts ?? []) act();
};

function listening(signal: AbortSignal): Set<() => void> {
  const acts = new Set<() => void>();
  ACTS.set(signal, acts);
  signal.addEventListener('abort', actAll);
  return acts;
}

function forget(signal: AbortSignal): void {
  ACTS.delete(signal);
  signal.removeEventListener('abort', actAll);
}
