/** Chooses a span of time, kept in the address: `range=6h`, or `from` and `to`. */
import { useMemo, useState } from 'preact/hooks';
import { formatMoment, localInputOf } from '../base/moment.js';
import { RANGES, rangeOf, type TimeRange } from '../base/time-range.js';
import { setQuery, usePlace } from '../data/location.js';
import { useSettings } from '../data/settings.js';
import { Dialog } from './dialog.js';
import { Field, Select, TextInput } from './form.js';

/**
 * The span that the address names, and a text that changes when another is chosen, for the key of a
 * poll. What ends now is read again with `now()` at each request.
 */
export function useTimeRange(): { readonly key: string; readonly now: () => TimeRange } {
  const { query } = usePlace();
  const { range: first } = useSettings();
  const [range, from, to] = ['range', 'from', 'to'].map((name) => query.get(name) ?? '');
  return useMemo(
    () => ({
      key: `${range} ${from} ${to} ${first}`,
      now: () => rangeOf(query, Date.now(), first),
    }),
    [range, from, to, first],
  );
}

export function RangePicker() {
  const { now } = useTimeRange();
  const { key, fromMs, toMs } = now();
  const [isOpen, setOpen] = useState(false);
  const own = { value: '', label: 'From … to …' };
  const choices = [...RANGES.map((one) => ({ value: one.key, label: one.label })), own];
  const choose = (value: string) => {
    if (value === '') setOpen(true);
    else setQuery({ range: value, from: null, to: null });
  };
  return (
    <span class="range">
      {key === null && (
        <span class="quiet">
          {formatMoment(fromMs)} to {formatMoment(toMs)}
        </span>
      )}
      <Select label="Span of time" value={key ?? ''} onInput={choose} choices={choices} />
      {key === null && (
        <button type="button" onClick={() => setOpen(true)}>
          Change
        </button>
      )}
      {isOpen && <SpanDialog fromMs={fromMs} toMs={toMs} onClose={() => setOpen(false)} />}
    </span>
  );
}

interface SpanDialogProps {
  readonly fromMs: number;
  readonly toMs: number;
  readonly onClose: () => void;
}

function SpanDialog({ fromMs, toMs, onClose }: SpanDialogProps) {
  const [from, setFrom] = useState(localInputOf(fromMs));
  const [to, setTo] = useState(localInputOf(toMs));
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  const error = Number.isFinite(begin) && Number.isFinite(end) && begin < end ? null : WRONG;
  const use = () => {
    if (error !== null) return;
    const [fromIso, toIso] = [begin, end].map((ms) => new Date(ms).toISOString());
    setQuery({ range: null, from: fromIso ?? null, to: toIso ?? null });
    onClose();
  };
  return (
    <Dialog title="Span of time" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          use();
        }}
      >
        <Field label="From">
          {(id) => <TextInput id={id} type="datetime-local" value={from} onInput={setFrom} />}
        </Field>
        <Field label="To" error={error}>
          {(id) => <TextInput id={id} type="datetime-local" value={to} onInput={setTo} />}
        </Field>
        <div class="dialog-foot">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={error !== null}>
            Show
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const WRONG = 'The end has to be after the beginning.';
