/**
 * The process's log: one line per event on standard output, as text or as one JSON object.
 *
 * Lines are written synchronously, so that the last line before an exit is out when the process is
 * gone. A log that can no longer be written (reader gone, disk full) must not end the broker: what
 * cannot be written is dropped.
 */
import { type DestinationStream, pino } from 'pino';
import { isWritten, type LogLevel, parseLogFilter } from './logging-filter.js';

export interface LoggingOptions {
  /** A filter such as `info,raft=debug`; checked when the configuration is read. */
  readonly level: string;
  readonly json: boolean;
}

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** `target` names the part of the broker that speaks: `boot`, `raft`, `http`, `rates`. */
export interface Logger {
  error(target: string, text: string, fields?: LogFields): void;
  warn(target: string, text: string, fields?: LogFields): void;
  info(target: string, text: string, fields?: LogFields): void;
  debug(target: string, text: string, fields?: LogFields): void;
  trace(target: string, text: string, fields?: LogFields): void;
  /** `FATAL: <text>` at error level, whatever the filter says; the caller then ends the process. */
  fatal(text: string): void;
}

/** Takes one finished line, with its line feed. */
export type WriteLine = (line: string) => void;

type WrittenLevel = Exclude<LogLevel, 'off'>;

/** Lines that wait for a standard output that takes none: beyond it they are dropped. */
const WAITING_BYTES_MAX = 1024 * 1024;

export function createLogger(options: LoggingOptions, writeLine?: WriteLine): Logger {
  const filter = parseLogFilter(options.level);
  if (filter === null) throw new RangeError(`not a log filter: ${options.level}`);
  const write = writeLine ?? standardOutput();
  const sink = pino(
    {
      base: null,
      level: 'trace',
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    options.json ? { write } : new TextLines(write),
  );
  const log = (level: WrittenLevel, target: string, text: string, fields?: LogFields): void => {
    if (isWritten(filter, target, level)) sink[level]({ target, ...fields }, text);
  };
  return {
    error: (target, text, fields) => log('error', target, text, fields),
    warn: (target, text, fields) => log('warn', target, text, fields),
    info: (target, text, fields) => log('info', target, text, fields),
    debug: (target, text, fields) => log('debug', target, text, fields),
    trace: (target, text, fields) => log('trace', target, text, fields),
    fatal: (text) => sink.error({ target: 'boot' }, `FATAL: ${text}`),
  };
}

function standardOutput(): WriteLine {
  const output = pino.destination({ fd: 1, sync: true, maxLength: WAITING_BYTES_MAX });
  // Without a listener the failed write of a log line would end the process. The line stays in the
  // buffer, within its bound, and goes out with the next that can be written.
  output.on('error', () => undefined);
  return (line) => {
    output.write(line);
  };
}

const METADATA: unique symbol = Symbol.for('pino.metadata');

/**
 * Renders `time LEVEL target text key=value`. pino hands a destination that asks for metadata the
 * values of the line beside its JSON, so nothing is parsed back.
 */
class TextLines implements DestinationStream {
  readonly [METADATA] = true;
  lastLevel = 0;
  lastMsg: string | undefined = undefined;
  lastObj: Readonly<Record<string, unknown>> = {};
  /** As the JSON holds it: an ISO stamp, perhaps in its quotes. */
  lastTime = '';
  readonly #write: WriteLine;

  constructor(write: WriteLine) {
    this.#write = write;
  }

  write(): void {
    const { target, ...fields } = this.lastObj;
    const level = (pino.levels.labels[this.lastLevel] ?? '').toUpperCase().padEnd(5);
    let line = `${this.lastTime.replaceAll('"', '')} ${level} ${target} ${this.lastMsg ?? ''}`;
    for (const [key, value] of Object.entries(fields)) line += ` ${key}=${value}`;
    this.#write(`${escapeControls(line)}\n`);
  }
}

/** An event stays one line whatever its text holds: a name in it may come from a client. */
function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    if (character === '\n') return '\\n';
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
