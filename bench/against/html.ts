// Text for a page: what is put into it is escaped, what is made here is not escaped again.

/** Markup; plain texts become some by `escaped`. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = Html | string | number | readonly Content[];

/** Markup with values in it: strings are escaped, markup and lists of it are taken as they are. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  let text = parts[0] ?? '';
  for (const [i, value] of values.entries()) text += textOf(value) + (parts[i + 1] ?? '');
  return new Html(text);
}

function textOf(value: Content): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'number') return String(value);
  return value.map(textOf).join('');
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES.get(character) ?? character);
}

export interface Table {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Content[])[];
  /** How many columns, from the first on, hold words; the others hold numbers. */
  readonly words: number;
}

/** It scrolls by itself where it is wider than the page. */
export function table({ caption, columns, rows, words }: Table): Html {
  const kind = (i: number) => (i < words ? 'word' : 'number');
  const head = columns.map((name, i) => html`<th scope="col" class="${kind(i)}">${name}</th>`);
  const body = rows.map((cells) => {
    const columnsOf = cells.map((cell, i) =>
      i === 0
        ? html`<th scope="row" class="word">${cell}</th>`
        : html`<td class="${kind(i)}">${cell}</td>`,
    );
    return html`<tr>${columnsOf}</tr>\n`;
  });
  return html`<div class="wide" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption><thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>\n`;
}
