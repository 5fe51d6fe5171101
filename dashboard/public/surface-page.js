/** Shows one of the pages of surfaces.js at a time. Names and values are only ever set as text. */
import { ROWS_MAX } from './surfaces.js';

const RESTART_MS = 300;

export class SurfacePage {
  #elements;
  #follow;
  /** What ends the asking of the page that is shown. */
  #stops = [];
  #values = {};
  #timer = null;
  /** Somebody has chosen, or the first choice was taken for him. */
  #isChosen = false;

  /** `follow(question, onAnswer)` asks again and again; what it returns ends that. */
  constructor(elements, follow) {
    this.#elements = elements;
    this.#follow = follow;
  }

  /** null: none of them. */
  show(page) {
    this.#stop();
    const { section, title, fields } = this.#elements;
    section.hidden = page === null;
    if (page === null) return;
    title.textContent = page.title;
    this.#isChosen = false;
    this.#values = Object.fromEntries(page.fields.map(({ name }) => [name, '']));
    fields.replaceChildren(...page.fields.map((field) => this.#field(page, field)));
    if (page.choicesFrom !== undefined) {
      const stop = this.#follow(page.choicesFrom, (answer) => {
        const names = page.choicesOf(answer);
        offer(names);
        this.#chooseFirst(page, names);
      });
      this.#stops.push(stop);
    }
    this.#ask(page);
  }

  #stop() {
    clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
    this.#stops = [];
  }

  #ask(page) {
    const { head, rows, table, note } = this.#elements;
    head.replaceChildren(
      rowOf(
        page.columns.map((text) => ({ text })),
        'th',
      ),
    );
    rows.replaceChildren();
    table.hidden = true;
    const question = page.question(this.#values);
    note.textContent = question === null ? page.wanted : 'Asking.';
    if (question === null) return;
    this.#stops.push(this.#follow(question, (answer) => this.#render(page, answer)));
  }

  #render(page, answer) {
    const { rows, table, note } = this.#elements;
    const found = page.rows(answer);
    rows.replaceChildren(...found.map((cells) => rowOf(cells, 'td')));
    table.hidden = found.length === 0;
    const more = page.more(answer) ? `The first ${ROWS_MAX}; there are more.` : '';
    const notes = [found.length === 0 ? page.empty : more, page.note?.(answer) ?? ''];
    note.textContent = notes.filter((text) => text !== '').join(' ');
  }

  /** Something is shown before anybody chooses. */
  #chooseFirst(page, [first]) {
    const at = page.fields.findIndex(({ choices }) => choices);
    if (first === undefined || this.#isChosen) return;
    this.#isChosen = true;
    this.#elements.fields.children[at].querySelector('input').value = first;
    this.#values = { ...this.#values, [page.fields[at].name]: first };
    this.#askAnew(page);
  }

  /** What offers the choices goes on. */
  #askAnew(page) {
    const kept = page.choicesFrom === undefined ? 0 : 1;
    for (const stop of this.#stops.splice(kept)) stop();
    this.#ask(page);
  }

  #field(page, { name, label, choices }) {
    const { template } = this.#elements;
    const field = template.content.cloneNode(true).firstElementChild;
    field.querySelector('span').textContent = label;
    const input = field.querySelector('input');
    input.placeholder = label;
    if (choices) input.setAttribute('list', 'choices');
    input.addEventListener('input', () => {
      this.#isChosen = true;
      this.#values = { ...this.#values, [name]: input.value };
      clearTimeout(this.#timer);
      // Not at every letter.
      this.#timer = setTimeout(() => this.#askAnew(page), RESTART_MS);
    });
    return field;
  }
}

function offer(names) {
  const options = names.slice(0, ROWS_MAX).map((name) => {
    const option = document.createElement('option');
    option.value = name;
    return option;
  });
  document.getElementById('choices').replaceChildren(...options);
}

export function rowOf(cells, kind) {
  const row = document.createElement('tr');
  for (const { text, isZero, isBad, isLong } of cells) {
    const cell = document.createElement(kind);
    cell.textContent = text;
    if (kind === 'th') cell.scope = 'col';
    if (isZero) cell.dataset.zero = '';
    if (isBad) cell.dataset.tone = 'bad';
    if (isLong) {
      cell.dataset.long = '';
      cell.title = text;
    }
    row.append(cell);
  }
  return row;
}
