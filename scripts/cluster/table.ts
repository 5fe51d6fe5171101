/** How the state of a cluster is shown: a table for a terminal, lines of change for a file. */
import type { NodeView } from './node-view.js';

const HEADINGS = [
  'role',
  'ready',
  'term',
  'commit',
  'applied',
  'lag',
  'req/s',
  'msg/s',
  'log',
  'memory',
];

/** `name`: what a node is called; `before`: an earlier look, `seconds` ago. */
export function table(
  name: string,
  views: readonly NodeView[],
  before: readonly NodeView[],
  seconds: number,
): string[] {
  const commit = Math.max(0, ...views.map((view) => view.commit ?? 0));
  const rows = views.map((view) => {
    const former = before.find(({ id }) => id === view.id);
    const rate = (figure: 'requests' | 'messages') =>
      perSecond(view[figure], former?.[figure] ?? null, seconds);
    return [
      String(view.id),
      view.state,
      view.healthy ? 'yes' : 'no',
      number(view.term),
      number(view.commit),
      number(view.applied),
      view.applied === null ? '-' : String(Math.max(0, commit - view.applied)),
      rate('requests'),
      rate('messages'),
      bytes(view.logBytes),
      bytes(view.memoryBytes),
    ];
  });
  return aligned([[name, ...HEADINGS], ...rows]);
}

/** What became different between two looks, one line for each node that changed. */
export function changes(
  name: string,
  views: readonly NodeView[],
  before: readonly NodeView[],
): string[] {
  return views.flatMap((view) => {
    const former = before.find(({ id }) => id === view.id);
    const isSame =
      former?.state === view.state && former.healthy === view.healthy && former.term === view.term;
    if (isSame) return [];
    const term = view.term === null ? '' : `, term ${view.term}`;
    const ready = view.healthy ? 'ready' : 'not ready';
    return [`${name} ${view.id}: ${view.state}${term}, ${ready}`];
  });
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = ['', ...HEADINGS].map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '),
  );
}

function number(value: number | null): string {
  return value === null ? '-' : String(value);
}

/** A node that was started again counts from nothing. */
function perSecond(now: number | null, before: number | null, seconds: number): string {
  if (now === null || before === null || now < before || seconds <= 0) return '-';
  return String(Math.round((now - before) / seconds));
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function bytes(value: number | null): string {
  if (value === null) return '-';
  let scaled = value;
  let unit = 0;
  while (scaled >= 1024 && unit < UNITS.length - 1) {
    scaled /= 1024;
    unit++;
  }
  return `${unit === 0 || scaled >= 10 ? Math.round(scaled) : scaled.toFixed(1)} ${UNITS[unit]}`;
}
