/**
 * The kinds of values that environment variables have, and how each is read.
 *
 * What must hold: a bad value is either refused with a text that names the variable and the value,
 * or, where the contract says so, replaced by the default; never half understood.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: string };

export interface Kind<Value> {
  /** As the operator's manual names it. */
  readonly label: string;
  /** As the operator's manual shows it; "" for none. */
  readonly defaultText: string;
  /** A smaller number is raised to it, or refused; null: the kind has none. */
  readonly minimum: number | null;
  /** `text` is undefined when the variable is unset; `name` is for the refusal. */
  parse(text: string | undefined, name: string, environment: Environment): Parsed<Value>;
  /** The fault of a value that is replaced instead of refused; null, or left out: it has none. */
  doubt?(text: string): string | null;
  /** The value in the line that the node logs at boot; secrets are masked. */
  show(value: Value): string;
}

/** The longest wait that a timer of the platform takes: 2^31 - 1 ms, 24 days. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
export const MEGABYTE = 1024 * 1024;

export function accepted<Value>(value: Value): Parsed<Value> {
  return { ok: true, value };
}

export function refused(error: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error };
}

/** A present but empty value is used verbatim. */
export function text(standard: string): Kind<string> {
  return {
    label: 'string',
    defaultText: standard,
    minimum: null,
    parse: (given) => accepted(given ?? standard),
    show: quoted,
  };
}

/** Null when unset. */
export function optionalText(meaningOfUnset: string): Kind<string | null> {
  return {
    label: 'string',
    defaultText: meaningOfUnset,
    minimum: null,
    parse: (given) => accepted(given ?? null),
    show: (value) => (value === null ? '<unset>' : quoted(value)),
  };
}

/** Unset or blank = the default; what is not a boolean is refused. */
export function flag(standard: boolean): Kind<boolean> {
  return {
    label: 'boolean',
    defaultText: String(standard),
    minimum: null,
    parse: (given, name) => {
      const value = booleanOf(given, standard);
      return value === null ? refused(notBoolean(name, given)) : accepted(value);
    },
    show: String,
  };
}

interface NumberBounds {
  readonly min: number;
  readonly max?: number;
  /** The value in the program is this many times the number in the variable. */
  readonly scale?: number;
}

/**
 * Clamped to its bounds; what is not a decimal integer is the default, for the contract says so of
 * its own variables. One that the contract does not name is an `exactInteger`.
 */
export function integer(standard: number, bounds: NumberBounds): Kind<number> {
  return numeric('integer', standard, bounds, () => true);
}

/** Unset or blank = the default; text and what is out of bounds are refused. */
export function exactInteger(standard: number, { min, max }: NumberBounds): Kind<number> {
  const limit = max ?? Number.MAX_SAFE_INTEGER;
  return {
    label: 'exact integer',
    defaultText: String(standard),
    minimum: min,
    parse: (given, name) => {
      if ((given ?? '').trim() === '') return accepted(standard);
      const value = integerOf(given);
      if (value !== null && value >= min && value <= limit) return accepted(value);
      const range = max === undefined ? `from ${min} on` : `from ${min} to ${max}`;
      return refused(`${name}=${given} is not a whole number ${range}`);
    },
    show: String,
  };
}

/** Null when unset or blank, else as `kind`. */
export function orUnset<Value>(kind: Kind<Value>, meaningOfUnset: string): Kind<Value | null> {
  return {
    ...kind,
    defaultText: meaningOfUnset,
    parse: (given, name, environment) =>
      (given ?? '').trim() === '' ? accepted(null) : kind.parse(given, name, environment),
    show: (value) => (value === null ? '<unset>' : kind.show(value)),
  };
}

/** A percentage, fractions too; everything outside 1..100 is silently the default. */
export function percent(standard: number): Kind<number> {
  return {
    label: 'percent',
    defaultText: String(standard),
    minimum: 1,
    parse: (given) => {
      const trimmed = given?.trim() ?? '';
      const value = /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : standard;
      return accepted(value >= 1 && value <= 100 ? value : standard);
    },
    doubt: (given) =>
      /^\d+(\.\d+)?$/.test(given) && Number(given) >= 1 && Number(given) <= 100
        ? null
        : `is not a number from 1 to 100: ${standard} is used`,
    show: String,
  };
}

/** As `integer`; null when unset or not a decimal integer. */
export function optionalInteger(
  meaningOfUnset: string,
  { min, max = Number.MAX_SAFE_INTEGER, scale = 1 }: NumberBounds,
): Kind<number | null> {
  return {
    label: 'integer',
    defaultText: meaningOfUnset,
    minimum: min,
    parse: (given) => {
      const value = integerOf(given);
      return accepted(value === null ? null : Math.min(Math.max(value, min), max) * scale);
    },
    doubt: (given) =>
      integerOf(given) === null
        ? `${wholeNumberText(given)}: it counts as unset`
        : boundsDoubt(given, min, max),
    show: (value) => (value === null ? '<unset>' : String(value / scale)),
  };
}

/** An engine numeric: 0, negative numbers and text are silently the default. */
export function positive(standard: number, bounds: NumberBounds): Kind<number> {
  return numeric('positive integer', standard, bounds, (value) => value > 0);
}

function numeric(
  label: string,
  standard: number,
  { min, max = Number.MAX_SAFE_INTEGER, scale = 1 }: NumberBounds,
  counts: (value: number) => boolean,
): Kind<number> {
  return {
    label,
    defaultText: String(standard),
    minimum: min,
    parse: (given) => {
      const value = integerOf(given);
      const used = value === null || !counts(value) ? standard : value;
      return accepted(Math.min(Math.max(used, min), max) * scale);
    },
    doubt: (given) => {
      const value = integerOf(given);
      if (value === null) return `${wholeNumberText(given)}: ${standard} is used`;
      if (!counts(value)) return `is not above 0: ${standard} is used`;
      return boundsDoubt(given, min, max);
    },
    show: (value) => String(value / scale),
  };
}

/** Shown as `<unset>` or by its length alone. Null when unset. */
export function secret(): Kind<string | null> {
  return {
    label: 'secret',
    defaultText: '',
    minimum: null,
    parse: (given) => accepted(given ?? null),
    show: (value) => (value === null ? '<unset>' : `<set:${value.length} chars>`),
  };
}

/**
 * A setting that this build has no code for and that would be dangerous to ignore: any value but a
 * blank one is refused. `why` completes "<NAME> is set, and this build has no ...".
 */
export function absentWhenSet(why: string): Kind<null> {
  return {
    label: 'refused when set',
    defaultText: '',
    minimum: null,
    parse: (given, name) =>
      given === undefined || given.trim() === ''
        ? accepted(null)
        : refused(`${name} is set, and this build has no ${why}: unset it`),
    show: () => '<unset>',
  };
}

/** As `absentWhenSet`, for a switch: off is fine. */
export function absentWhenOn(why: string): Kind<false> {
  return {
    label: 'refused when true',
    defaultText: 'false',
    minimum: null,
    parse: (given, name) => {
      const value = booleanOf(given, false);
      if (value === null) return refused(notBoolean(name, given));
      if (!value) return accepted(false);
      return refused(`${name}=${given?.trim()}, and this build has no ${why}: unset it`);
    },
    show: String,
  };
}

/** A decimal integer that a number holds exactly; null for everything else. */
export function integerOf(given: string | undefined): number | null {
  const trimmed = given?.trim() ?? '';
  if (!/^-?\d+$/.test(trimmed)) return null;
  const value = Number(trimmed);
  return Number.isSafeInteger(value) ? value : null;
}

/** As it stands when that is clear, otherwise in JSON quotes. */
export function quoted(value: string): string {
  return /^[\w.,:/=@[\]-]+$/.test(value) ? value : JSON.stringify(value);
}

function boundsDoubt(given: string, min: number, max: number): string | null {
  const value = integerOf(given);
  if (value === null || (value >= min && value <= max)) return null;
  return value < min ? `is below ${min}: ${min} is used` : `is above ${max}: ${max} is used`;
}

const UNIT_BYTES: ReadonlyMap<string, number> = new Map([
  ['k', 1024],
  ['m', MEGABYTE],
  ['g', 1024 * MEGABYTE],
]);

/** For a size with a unit it says the number that may be meant. */
function wholeNumberText(given: string): string {
  const [, digits, unit = ''] = /^(\d+) ?([kmg])i?b?$/i.exec(given) ?? [];
  const bytes = Number(digits) * (UNIT_BYTES.get(unit.toLowerCase()) ?? 1);
  const meant = digits === undefined ? '' : `; ${given} in bytes is ${bytes}`;
  return `is not a whole number without a unit${meant}`;
}

const TRUE_WORDS = ['true', '1', 'yes', 'on'];
const FALSE_WORDS = ['false', '0', 'no', 'off'];

function booleanOf(given: string | undefined, standard: boolean): boolean | null {
  const word = given?.trim().toLowerCase() ?? '';
  if (word === '') return standard;
  if (TRUE_WORDS.includes(word)) return true;
  return FALSE_WORDS.includes(word) ? false : null;
}

function notBoolean(name: string, given: string | undefined): string {
  return `${name}="${given}" is not a boolean (expected true/false, 1/0, yes/no, on/off)`;
}
