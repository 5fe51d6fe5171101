import type { ComponentChildren } from 'preact';
import { navigate, urlOf } from '../data/location.js';

interface LinkProps {
  /** The address in the app: `/queues/orders`. */
  readonly to: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly current?: boolean;
  readonly label?: string;
}

/** A link within the app. A click with a modifier is the browser's. */
export function Link({ to, children, current = false, label, class: className }: LinkProps) {
  return (
    <a
      href={urlOf(to)}
      class={className}
      aria-current={current ? 'page' : undefined}
      aria-label={label}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        if (event.button !== 0) return;
        event.preventDefault();
        navigate(to);
      }}
    >
      {children}
    </a>
  );
}
