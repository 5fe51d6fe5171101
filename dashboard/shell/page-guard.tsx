import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';
import { Page } from '../components/page.js';

/** A page that fails says so; the frame around it goes on. */
export function PageGuard({ children }: { readonly children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary((thrown: unknown) => reportError(thrown));
  if (error === undefined) return <>{children}</>;
  return (
    <Page title="This page failed">
      <p class="state failed" role="alert">
        <span>{String(error)}</span>
        <button type="button" onClick={reset}>
          Try again
        </button>
      </p>
    </Page>
  );
}
