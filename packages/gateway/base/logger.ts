/** The gateway's log for an operator; the broker's own has this shape. */
export interface Logger {
  error(target: string, text: string, fields?: LogFields): void;
  warn(target: string, text: string, fields?: LogFields): void;
  info(target: string, text: string, fields?: LogFields): void;
}

export type LogFields = { readonly [name: string]: string | number | boolean | null };
