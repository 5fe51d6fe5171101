/** Small pieces of text: names of others, times, figures, marks. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Figure, formatBytes, formatInteger } from '../base/format.js';
import { exactMoment, formatAgo, formatMoment, type Moment } from '../base/moment.js';
import { shownName } from '../base/words.js';

/** A name that somebody else chose: any length, any direction, never markup. */
export function Name({ text }: { readonly text: string }) {
  return (
    <bdi class="name" title={text}>
      {text === '' ? '(empty)' : shownName(text)}
    </bdi>
  );
}

/** In the reader's zone; the exact value on hover. */
export function Time({ at }: { readonly at: Moment }) {
  return <time title={exactMoment(at)}>{formatMoment(at)}</time>;
}

/** "5 min ago", kept true while it is shown. */
export function Ago({ at }: { readonly at: Moment }) {
  const nowMs = useNow(at === null || at === undefined ? null : 1000);
  return <time title={`${formatMoment(at)} (${exactMoment(at)})`}>{formatAgo(at, nowMs)}</time>;
}

/** The time, read anew every so often; null: once. */
export function useNow(everyMs: number | null): number {
  const [nowMs, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (everyMs === null) return;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}

/** A count; 0 is quiet. `isBad`: any is too many. */
export function Count({ of, isBad = false }: { readonly of: Figure; readonly isBad?: boolean }) {
  const tone = isBad && of !== 0 && of !== null && of !== undefined ? 'bad' : undefined;
  return (
    <span class={of === 0 ? 'quiet' : undefined} data-tone={tone}>
      {formatInteger(of)}
    </span>
  );
}

export function Bytes({ of }: { readonly of: Figure }) {
  const exact = typeof of === 'number' ? `${of} B` : undefined;
  return (
    <span class={of === 0 ? 'quiet' : undefined} title={exact}>
      {formatBytes(of)}
    </span>
  );
}

export type Tone = 'good' | 'wait' | 'bad' | 'plain';

export function Badge({
  tone = 'plain',
  children,
}: {
  readonly tone?: Tone;
  readonly children: ComponentChildren;
}) {
  return (
    <span class="badge" data-tone={tone}>
      {children}
    </span>
  );
}

/** For screen readers alone. */
export function Hidden({ children }: { readonly children: ComponentChildren }) {
  return <span class="hidden">{children}</span>;
}
