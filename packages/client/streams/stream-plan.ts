/** A stream as data: what its builder made, and what a worker runs. */
import { misuse } from '../base/checks.js';
import type { StandardSchema } from '../base/standard-schema.js';
import type { Gate } from './gates.js';
import type { Reducer } from './reducers.js';
import type { StreamContext, WindowPlan } from './windows.js';

export type StepFunction = (value: unknown, context: StreamContext<unknown>) => unknown;

export interface Step {
  readonly kind: 'map' | 'filter' | 'flatMap' | 'keyBy';
  readonly act: StepFunction;
}

export type Sink =
  | {
      readonly kind: 'queue';
      readonly queue: string;
      /** Where a value goes; without, the partition that it came from. */
      readonly partition: StepFunction | string | undefined;
      readonly schema: StandardSchema | undefined;
    }
  | { readonly kind: 'foreach'; readonly act: StepFunction };

export interface StreamPlan {
  readonly queue: string;
  readonly schema: StandardSchema | undefined;
  /** Before the window, or all. */
  readonly before: readonly Step[];
  readonly window: WindowPlan | null;
  readonly reducer: Reducer | null;
  readonly gate: Gate<unknown> | null;
  /** Behind the window or the gate. */
  readonly after: readonly Step[];
  readonly sink: Sink;
}

export interface Item {
  readonly value: unknown;
  readonly context: StreamContext<unknown>;
}

/** The items that come of one, in order. */
export async function applySteps(steps: readonly Step[], from: Item): Promise<Item[]> {
  let items: Item[] = [from];
  for (const { kind, act } of steps) {
    const next: Item[] = [];
    for (const item of items) {
      const { value, context } = item;
      const made = act(value, context);
      // Most functions are synchronous, and each `await` is a turn of the loop.
      const result = isPromise(made) ? await made : made;
      if (kind === 'map') next.push({ value: result, context });
      else if (kind === 'keyBy') next.push({ value, context: { ...context, key: keyOf(result) } });
      else if (kind === 'filter') {
        if (result) next.push(item);
      } else {
        if (!Array.isArray(result)) throw misuse('what flatMap got', result, '(value) => [ ... ]');
        for (const one of result) next.push({ value: one, context });
      }
    }
    items = next;
  }
  return items;
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function keyOf(key: unknown): string {
  if (typeof key === 'string' || typeof key === 'number') return String(key);
  throw misuse('what keyBy got', key, 'a function that gives a text or a number');
}

/**
 * What two workers of one stream have to agree on: the kinds of operators in order, with what
 * changes the meaning of their state, and never the functions of the user. It goes to the broker as
 * it is, so that it can be read when it differs: 1,024 bytes at most. Rejected: its SHA-256, which
 * browsers do not offer to pages of a plain http origin.
 */
export function shapeOf(plan: StreamPlan): string {
  const { queue, before, window, reducer, gate, after, sink } = plan;
  const kinds = (steps: readonly Step[]) => steps.map(({ kind }) => kind);
  const { tag, graceMs, latenessMs, includeLate, eventTime } = window ?? {};
  return JSON.stringify([
    queue,
    kinds(before),
    window && [tag, graceMs, latenessMs, includeLate, eventTime !== null],
    reducer?.shape ?? null,
    gate !== null,
    kinds(after),
    sink.kind === 'queue' ? sink.queue : null,
  ]);
}
