/** The arguments and flags that a command was given, read by the kind that each has. */
import { UserError } from '../base/errors.js';
import { durationMsOf, timeOf } from '../base/times.js';

export class Given {
  readonly #args: readonly (string | readonly string[] | undefined)[];
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #typed: (option: string) => boolean;
  readonly #nowMs: number;

  constructor(
    args: readonly (string | readonly string[] | undefined)[],
    options: Readonly<Record<string, unknown>>,
    typed: (option: string) => boolean,
    nowMs: number,
  ) {
    this.#args = args;
    this.#options = options;
    this.#typed = typed;
    this.#nowMs = nowMs;
  }

  /** An argument that the command cannot be without. */
  arg(at: number): string {
    return this.optionalArg(at) ?? '';
  }

  optionalArg(at: number): string | undefined {
    const value = this.#args[at];
    return typeof value === 'string' ? value : undefined;
  }

  /** The last argument, when it takes as many as there are. */
  args(at: number): readonly string[] {
    const value = this.#args[at];
    return Array.isArray(value) ? (value as readonly string[]) : [];
  }

  text(flag: string): string | undefined {
    const value = this.#options[optionOf(flag)];
    return typeof value === 'string' ? value : undefined;
  }

  /** A flag that the command cannot be without. */
  required(flag: string): string {
    const value = this.text(flag);
    if (value === undefined || value === '') throw new UserError(`--${flag} is missing`);
    return value;
  }

  is(flag: string): boolean {
    return this.#options[optionOf(flag)] === true;
  }

  /** Whether the user wrote it: a default is not. */
  isTyped(flag: string): boolean {
    return this.#typed(optionOf(flag));
  }

  integer(flag: string, min = 0): number | undefined {
    const text = this.text(flag);
    return text === undefined ? undefined : integerOf(text, `--${flag}`, min);
  }

  /** A flag with a default. */
  count(flag: string, min = 0): number {
    return this.integer(flag, min) ?? min;
  }

  durationMs(flag: string): number | undefined {
    const text = this.text(flag);
    return text === undefined ? undefined : durationMsOf(text, `--${flag}`);
  }

  /** `end`, or an RFC 3339 time. */
  time(flag: string): string | undefined {
    const text = this.text(flag);
    return text === undefined ? undefined : timeOf(text, this.#nowMs, `--${flag}`);
  }

  /** A time of the past: the end of the log is this moment. */
  instant(flag: string): string | undefined {
    const time = this.time(flag);
    return time === 'end' ? new Date(this.#nowMs).toISOString() : time;
  }
}

export function integerOf(text: string, name: string, min = 0): number {
  const value = Number(text);
  if (/^-?\d+$/.test(text.trim()) && Number.isSafeInteger(value) && value >= min) return value;
  throw new UserError(`${name} ${JSON.stringify(text)} is no integer of at least ${min}`);
}

/** `partitionKey` for `partition-key`, as the parser has it. */
export function optionOf(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
