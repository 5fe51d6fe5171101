import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

interface PageProps {
  readonly title: string;
  /** Instead of the title, where that is a name of somebody. */
  readonly heading?: ComponentChildren;
  /** Buttons at the right. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A page: its title for the window, its heading, which gets the focus when it is opened. */
export function Page({ title, heading, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · svc`;
  }, [title]);
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{heading ?? title}</h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ title, note, actions, children }: SectionProps) {
  return (
    <section class="section" aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {note !== undefined && <span class="quiet">{note}</span>}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

export interface Fact {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly tone?: 'good' | 'wait' | 'bad' | undefined;
}

/** Figures side by side. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ label, value, note, tone }) => (
        <div class="fact" key={label} data-tone={tone}>
          <dt>{label}</dt>
          <dd class="value">{value}</dd>
          <dd class="note quiet">{note}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Labels and values, one below the other. */
export function Pairs({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="pairs">
      {facts.map(({ label, value, tone }) => (
        <div key={label} data-tone={tone}>
          <dt>{label}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
