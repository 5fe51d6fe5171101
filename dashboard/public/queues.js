/** The table of queues: filter, order, rows. Names are only ever set as text. */
import { formatBytes, formatInteger } from './format.js';

/** Rows shown at once; the filter finds the others. */
const ROWS_MAX = 200;

const COLUMNS = [
  { key: 'name', of: (queue) => queue.name },
  { key: 'partitions', of: (queue) => queue.partitions },
  { key: 'pending', of: (queue) => queue.messages?.pending },
  { key: 'processing', of: (queue) => queue.messages?.processing },
  { key: 'completed', of: (queue) => queue.messages?.completed },
  { key: 'deadLetter', of: (queue) => queue.messages?.deadLetter },
  { key: 'total', of: (queue) => queue.messages?.total },
  { key: 'retainedBytes', of: (queue) => queue.retainedBytes },
];

/** The queues whose name holds the text, ordered by a column; ties by name. */
export function select(queues, { text, column, descending }) {
  const { of } = COLUMNS.find(({ key }) => key === column);
  const wanted = text.trim().toLowerCase();
  const sign = descending ? -1 : 1;
  return queues
    .filter((queue) => queue.name.toLowerCase().includes(wanted))
    .sort((a, b) => sign * compare(of(a), of(b)) || compare(a.name, b.name));
}

function compare(a, b) {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export class QueueTable {
  #queues = null;
  #view = { text: '', column: 'pending', descending: true };
  #elements;

  constructor(elements) {
    this.#elements = elements;
    elements.filter.addEventListener('input', () => {
      this.#view = { ...this.#view, text: elements.filter.value };
      this.#render();
    });
    elements.table.tHead.addEventListener('click', (event) => {
      const column = event.target.closest('button')?.dataset.column;
      if (column !== undefined) this.#order(column);
    });
  }

  show(queues) {
    this.#queues = queues;
    this.#render();
  }

  #order(column) {
    const same = this.#view.column === column;
    const descending = same ? !this.#view.descending : column !== 'name';
    this.#view = { ...this.#view, column, descending };
    this.#render();
  }

  #render() {
    if (this.#queues === null) return;
    const { table, rows, note, count, firstMessage } = this.#elements;
    const selected = select(this.#queues, this.#view);
    const isEmpty = this.#queues.length === 0;
    count.textContent = formatInteger(this.#queues.length);
    table.hidden = selected.length === 0;
    rows.replaceChildren(...selected.slice(0, ROWS_MAX).map(rowOf));
    firstMessage.hidden = !isEmpty;
    note.textContent = noteOf(this.#queues.length, selected.length);
    note.hidden = note.textContent === '';
    for (const button of table.tHead.querySelectorAll('button')) {
      const heading = button.closest('th');
      if (button.dataset.column !== this.#view.column) heading.removeAttribute('aria-sort');
      else heading.ariaSort = this.#view.descending ? 'descending' : 'ascending';
    }
  }
}

function noteOf(all, selected) {
  if (all === 0) return 'No queue yet. The first message makes one:';
  if (selected === 0) return 'No queue has this in its name.';
  if (selected <= ROWS_MAX) return '';
  return `${formatInteger(ROWS_MAX)} of ${formatInteger(selected)} queues; filter to see others.`;
}

function rowOf(queue) {
  const row = document.createElement('tr');
  for (const { key, of } of COLUMNS) {
    const cell = row.insertCell();
    const value = of(queue);
    if (key === 'name') {
      cell.textContent = value;
      cell.title = value;
    } else {
      cell.textContent = key === 'retainedBytes' ? formatBytes(value) : formatInteger(value);
      if (value === 0) cell.dataset.zero = '';
      if (key === 'deadLetter' && value > 0) cell.dataset.tone = 'bad';
    }
  }
  return row;
}
