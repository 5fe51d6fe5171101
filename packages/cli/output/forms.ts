/** The forms of `-o`: the only place that turns a value into the text that is printed. */
import { stringify } from 'yaml';
import { UserError } from '../base/errors.js';
import { exactJson, withExactNumbers } from '../base/exact-json.js';
import { stepsOf, valuesAt } from './json-path.js';
import { type TableOptions, tableText } from './table.js';

export interface Printed {
  readonly value: unknown;
  /** What tables, and lines of JSON, have as rows; absent: the value alone. */
  readonly rows?: readonly unknown[] | undefined;
  /** Absent: there is no table of it. */
  readonly columns?: string | undefined;
  /** What is printed instead of a table when there are no columns. */
  readonly instead?: 'json' | 'yaml' | undefined;
}

export interface FormOptions extends Omit<TableOptions, 'wide'> {
  /** As `-o` has it; undefined: by whether the output is a terminal. */
  readonly form: string | undefined;
  readonly isTerminal: boolean;
}

const FORMS = ['table', 'wide', 'json', 'ndjson', 'jsonl', 'yaml', 'raw'];
const PATH = 'jsonpath=';

/** Before a call is made: a form that does not exist must not follow what was done. */
export function checkForm(form: string | undefined): void {
  if (form === undefined || FORMS.includes(form)) return;
  if (!form.startsWith(PATH)) {
    throw new UserError(`-o ${form}: write one of ${FORMS.join(', ')}, or jsonpath=<expression>`);
  }
  stepsOf(form.slice(PATH.length));
}

/** Whether `form` asks for a value where a command has a line of text to say. */
export function isForMachines(form: string | undefined): boolean {
  return form !== undefined && form !== 'table' && form !== 'wide';
}

/** `bodies` are those of the answers that it was made of, as they came. */
export function printedText(
  printed: Printed,
  bodies: readonly string[],
  options: FormOptions,
): string {
  const form = options.form ?? (options.isTerminal ? 'table' : 'json');
  if (form === 'raw' && bodies.length > 0) return bodies.map(ended).join('');
  return withExactNumbers(textIn(form, printed, options));
}

function textIn(form: string, printed: Printed, options: FormOptions): string {
  const { value, columns } = printed;
  if (form.startsWith(PATH)) return pathText(value, form.slice(PATH.length));
  switch (form) {
    case 'raw':
      return `${JSON.stringify(value)}\n`;
    case 'json':
      return `${exactJson(value, 2)}\n`;
    case 'yaml':
      return stringify(value, { aliasDuplicateObjects: false });
    case 'ndjson':
    case 'jsonl':
      return (printed.rows ?? [value]).map((row) => `${JSON.stringify(row)}\n`).join('');
    default:
      if (columns === undefined) return textIn(printed.instead ?? 'json', printed, options);
      return tableText(printed.rows ?? [value], columns, { ...options, wide: form === 'wide' });
  }
}

function pathText(value: unknown, expression: string): string {
  return valuesAt(value, stepsOf(expression))
    .map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`)
    .join('');
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
