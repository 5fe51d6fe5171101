/**
 * Errors and exit codes: the only place that knows which is which.
 *
 * | Code | When |
 * | --- | --- |
 * | 0 | success |
 * | 1 | the user's error: a wrong flag, a missing argument, a line that is no JSON, an operators' route |
 * | 2 | the server refused, did not answer or was not reached; and every other error |
 * | 3 | 401 and 403 |
 * | 4 | nothing to do: an empty pop, nothing to push or apply; without a message |
 * | 130 | ended by Ctrl-C |
 */
import { ClientError } from '@svc/client';

export const EXIT = {
  done: 0,
  user: 1,
  server: 2,
  denied: 3,
  nothing: 4,
  interrupted: 130,
} as const;

/** A mistake in what the user wrote, with what to write instead. */
export class UserError extends Error {
  override readonly name = 'UserError';
}

/** The call was answered, and the answer says that it was not carried out. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** Somebody was not let in, by an answer that is no error of the client. */
export class DeniedError extends Error {
  override readonly name = 'DeniedError';
}

export interface Ending {
  readonly code: number;
  /** Absent: nothing is printed. */
  readonly text?: string;
}

/** Routes that this server has not, or not for this user. */
const NO_ROUTE: Readonly<Record<string, string>> = {
  route_blocked: 'this route is for operators: use a context of an operator',
  no_such_route: 'this server has no such route',
};

export function endingOf(error: unknown): Ending {
  if (error instanceof ClientError) return endingOfCall(error);
  if (error instanceof UserError) return { code: EXIT.user, text: error.message };
  if (error instanceof DeniedError) return { code: EXIT.denied, text: error.message };
  if (error instanceof RefusedError) return { code: EXIT.server, text: error.message };
  // The client refuses what a call cannot hold, such as a name of nothing, before it sends it.
  if (error instanceof TypeError) return { code: EXIT.user, text: error.message };
  return { code: EXIT.server, text: error instanceof Error ? error.message : String(error) };
}

function endingOfCall({ status, code = '', message, outcomeUnknown }: ClientError): Ending {
  if (status === 401 || status === 403) return { code: EXIT.denied, text: message };
  const hint = status === 404 ? NO_ROUTE[code] : undefined;
  if (hint !== undefined) return { code: EXIT.user, text: `${message} (${hint})` };
  const unknown = outcomeUnknown ? ' (it may have been carried out)' : '';
  return { code: EXIT.server, text: message + unknown };
}
