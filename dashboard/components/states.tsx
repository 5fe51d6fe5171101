/** What stands in place of figures, or beside figures that are old. */
import type { ComponentChildren } from 'preact';
import { useErrorBoundary, useLayoutEffect } from 'preact/hooks';
import { formatClock } from '../base/moment.js';
import { askForToken } from '../data/access.js';
import type { Poll } from '../data/poll.js';

interface LoadedProps<Data> {
  readonly poll: Poll<Data>;
  readonly children: (data: Data) => ComponentChildren;
  /** The words after "Asking for": "the queues". */
  readonly what: string;
}

/** The figures of a poll: asked for, there, old, or refused. */
export function Loaded<Data>({ poll, children, what }: LoadedProps<Data>) {
  const { data, error, isFormer = false } = poll;
  if (data !== null) {
    const isOld = isFormer || error !== null;
    return (
      <div class="loaded" data-stale={isOld ? '' : undefined} aria-busy={isFormer || undefined}>
        <Stale poll={poll} />
        <Drawn data={data}>{children}</Drawn>
      </div>
    );
  }
  if (error === null) return <Asking what={what} />;
  return <Failed reason={error.message} status={error.status} retry={poll.refresh} />;
}

interface DrawnProps<Data> {
  readonly data: Data;
  readonly children: (data: Data) => ComponentChildren;
}

/** Figures that cannot be drawn say so where they would be; the next ones are tried again. */
function Drawn<Data>({ data, children }: DrawnProps<Data>) {
  const [error, reset] = useErrorBoundary((thrown: unknown) => reportError(thrown));
  useLayoutEffect(() => reset(), [data]);
  if (error !== undefined) return <Failed reason={`it cannot be drawn (${String(error)})`} />;
  return <Figures of={() => children(data)} />;
}

/** A component of its own: a boundary is for what is below it. */
function Figures({ of }: { readonly of: () => ComponentChildren }) {
  return <>{of()}</>;
}

/** "as of 12:03:05", and why; nothing while the figures are live. */
export function Stale({ poll }: { readonly poll: Poll<unknown> }) {
  const { error, answeredAtMs, refresh } = poll;
  if (error === null || answeredAtMs === null) return null;
  return (
    <p class="stale" role="status">
      <span>
        as of {formatClock(answeredAtMs)}: {error.message}
      </span>
      <TokenOrRetry status={error.status} retry={refresh} />
    </p>
  );
}

export function Asking({ what }: { readonly what: string }) {
  return (
    <p class="state quiet" role="status">
      Asking for {what}.
    </p>
  );
}

interface FailedProps {
  readonly reason: string;
  readonly status?: number;
  readonly retry?: () => void;
}

export function Failed({ reason, status = 0, retry }: FailedProps) {
  return (
    <p class="state failed" role="alert">
      <span>Not shown: {reason}.</span>
      <TokenOrRetry status={status} retry={retry} />
    </p>
  );
}

function TokenOrRetry({ status, retry }: { status: number; retry: (() => void) | undefined }) {
  if (status === 401) {
    const enter = () => {
      askForToken();
      retry?.();
    };
    return (
      <button type="button" onClick={enter}>
        Enter a token
      </button>
    );
  }
  if (retry === undefined) return null;
  return (
    <button type="button" onClick={retry}>
      Ask again
    </button>
  );
}

/** Nothing is there: what that means, and what to do next. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="state quiet">{children}</div>;
}

interface NoticeProps {
  readonly tone: 'wait' | 'bad';
  readonly children: ComponentChildren;
}

export function Notice({ tone, children }: NoticeProps) {
  return (
    <div class="notice" data-tone={tone}>
      <span class="mark-of-tone" aria-hidden="true">
        {tone === 'bad' ? '✕' : '!'}
      </span>
      <div>{children}</div>
    </div>
  );
}
