/**
 * A stored value as a tree: numbers as they were written, any depth, up to a MiB and beyond. Lines
 * are equally high, so only those that are seen are drawn.
 */
import { useMemo, useState } from 'preact/hooks';
import { type JsonLine, jsonLines } from '../base/json-lines.js';
import { RawJson } from '../base/raw-json.js';
import { shownName } from '../base/words.js';
import { CopyButton } from './copy-button.js';
import { useRowScroll } from './row-scroll.js';

const LINE_PX = 21;
/** Deeper lines are not moved further to the right; the depth stands beside them. */
const INDENT_MAX = 24;
const INDENT_CH = 2;

export function JsonTree({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = textOfStored(value);
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const lines = useMemo(() => jsonLines(text, folded), [text, folded]);
  const scroll = useRowScroll(lines.length, LINE_PX);
  const { begin, end } = scroll.window;
  const fold = (at: number) => {
    const changed = new Set(folded);
    if (!changed.delete(at)) changed.add(at);
    setFolded(changed);
  };
  return (
    <div class="json">
      <div class="json-head">
        <span class="quiet">{label}</span>
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
      <div
        role="group"
        class="json-box"
        tabIndex={0}
        aria-label={label}
        ref={scroll.box}
        onScroll={scroll.onScroll}
      >
        <div style={{ height: `${scroll.abovePx}px` }} />
        {lines.slice(begin, end).map((line) => (
          <Line
            key={`${line.at} ${line.text}`}
            line={line}
            isFolded={folded.has(line.at)}
            onFold={() => fold(line.at)}
          />
        ))}
        <div style={{ height: `${scroll.belowPx}px` }} />
      </div>
    </div>
  );
}

interface LineProps {
  readonly line: JsonLine;
  readonly isFolded: boolean;
  readonly onFold: () => void;
}

function Line({ line, isFolded, onFold }: LineProps) {
  const { depth, name, kind, text, size } = line;
  const indent = { paddingInlineStart: `${Math.min(depth, INDENT_MAX) * INDENT_CH + 3}ch` };
  return (
    <div class="json-line" style={indent}>
      {size > 0 && (
        <button
          type="button"
          class="fold"
          aria-expanded={!isFolded}
          onClick={onFold}
          aria-label={`${isFolded ? 'Unfold' : 'Fold'} ${name === '' ? 'the value' : name}`}
        >
          {isFolded ? '▸' : '▾'}
        </button>
      )}
      {depth > INDENT_MAX && <span class="quiet">{depth}: </span>}
      {name !== '' && (
        <>
          <bdi class="json-name">{shownName(name)}</bdi>
          {': '}
        </>
      )}
      <bdi class={`json-${kind}`}>{shownName(text)}</bdi>
      {isFolded && <span class="quiet"> {size}</span>}
    </div>
  );
}

/** The text as it is stored; of what came parsed, the text that it would have. */
export function textOfStored(value: unknown): string {
  return value instanceof RawJson ? value.text : (JSON.stringify(value) ?? 'null');
}

/** One line for a table; the whole on hover. */
export function StoredText({ value }: { readonly value: unknown }) {
  const text = textOfStored(value);
  return (
    <bdi class="name" title={text.slice(0, HOVER_MAX)}>
      {shownName(text.slice(0, LINE_MAX))}
    </bdi>
  );
}

const LINE_MAX = 200;
const HOVER_MAX = 2000;
