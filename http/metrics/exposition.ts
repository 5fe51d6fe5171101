/**
 * Text in the exposition format, version 0.0.4: what `GET /metrics/prometheus` answers.
 *
 * What must hold: a family is opened once, and its samples follow it; labels come with it in one
 * order; a value is a number that the format knows. Whoever writes samples sees to it that no two
 * of a family have the same labels.
 *
 * The job: a node may have ten thousand queues, and a scrape of them must not take long. Text is
 * gathered in pieces, so that nothing is copied again and again, and what does not change from
 * sample to sample is put together once for a family.
 */

export type FamilyType = 'counter' | 'gauge' | 'summary' | 'histogram';

/** Pieces are joined into buffers of about so many characters. */
const PIECE_CHARS = 64 * 1024;

export class Exposition {
  readonly #buffers: Buffer[] = [];
  #text = '';

  /** The name that the samples of the open family begin with. */
  #name = '';

  family(name: string, type: FamilyType, help: string): void {
    this.#name = name;
    this.#add(`# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`);
  }

  /** A remark for whoever reads the text; parsers pass it over. */
  comment(text: string): void {
    this.#add(`# ${text.replaceAll('\n', ' ')}\n`);
  }

  /** `labels` as `labelText` makes them, "" for none; `suffix` as in `_sum`. */
  sample(labels: string, value: number, suffix = ''): void {
    const braced = labels === '' ? '' : `{${labels}}`;
    this.#add(`${this.#name}${suffix}${braced} ${formatValue(value)}\n`);
  }

  /** Samples of the open family that were made before, line by line. */
  lines(text: string): void {
    this.#add(text);
  }

  /** What was written since; the object is not used any more. */
  finish(): Buffer {
    this.#flush();
    return this.#buffers.length === 1 ? (this.#buffers[0] as Buffer) : Buffer.concat(this.#buffers);
  }

  #add(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE_CHARS) this.#flush();
  }

  #flush(): void {
    this.#buffers.push(Buffer.from(this.#text, 'utf8'));
    this.#text = '';
  }
}

/** `name="value"`. */
export function labelText(name: string, value: string): string {
  return `${name}="${escapeLabel(value)}"`;
}

/** Tests once what nearly no name has. */
const ESCAPED = /[\\"\n]/;

function escapeLabel(value: string): string {
  if (!ESCAPED.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function formatValue(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
