/** Above a list: the field that narrows it, and how many rows are left. */
import type { ComponentChildren } from 'preact';
import { setQuery, usePlace } from '../data/location.js';
import { TextInput } from './form.js';

/** The text stands in the address, as `q`. */
export function SearchField({ label }: { readonly label: string }) {
  const { query } = usePlace();
  return (
    <TextInput
      label={label}
      placeholder={label}
      type="search"
      value={query.get('q') ?? ''}
      onInput={(q) => setQuery({ q })}
      isSearch
    />
  );
}

interface ListFilterProps {
  /** "Name holds" */
  readonly label: string;
  /** "12 queues" */
  readonly count?: string;
  readonly children?: ComponentChildren;
}

export function ListFilter({ label, count, children }: ListFilterProps) {
  return (
    <div class="filters">
      <SearchField label={label} />
      {count !== undefined && (
        <span class="quiet" role="status">
          {count}
        </span>
      )}
      {children}
    </div>
  );
}
