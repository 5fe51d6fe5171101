/** Where the client says what it met and went on from. Silent unless asked for. */
import { NODE } from './platform.js';

export interface Logger {
  warn(text: string, facts?: Readonly<Record<string, unknown>>): void;
  error(text: string, facts?: Readonly<Record<string, unknown>>): void;
}

export const SILENT: Logger = { warn: () => undefined, error: () => undefined };

/** To the console; with `structured` each line is a JSON object. */
export function consoleLogger(structured: boolean): Logger {
  const line = (level: string, text: string, facts: object = {}): string =>
    structured
      ? JSON.stringify({ level, time: new Date().toISOString(), message: text, ...facts })
      : `svc client: ${text} ${JSON.stringify(facts)}`;
  return {
    warn: (text, facts) => console.warn(line('warn', text, facts)),
    error: (text, facts) => console.error(line('error', text, facts)),
  };
}

/** `SVC_CLIENT_LOG=true` turns the log on where the program names no logger. */
export function usualLogger(structured: boolean | undefined): Logger {
  const asked = structured === true || NODE?.env?.SVC_CLIENT_LOG === 'true';
  return asked ? consoleLogger(structured ?? false) : SILENT;
}
