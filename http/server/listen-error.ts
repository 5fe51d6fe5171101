import { createServer } from 'node:net';

/** The listener could not be opened; the message names host, port and cause. */
export class ListenError extends Error {
  readonly code: string;
  /** The cause as it stands in the message. */
  readonly why: string;

  constructor(host: string, port: number, code: string, why: string) {
    super(`cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${why}`);
    this.name = 'ListenError';
    this.code = code;
    this.why = why;
  }
}

/** The native layer does not say why; the system does, when it is asked for the same once more. */
export async function listenErrorOf(host: string, port: number): Promise<ListenError> {
  const error = await portTaken(host, port);
  return error ?? new ListenError(host, port, 'listen_failed', 'the address was refused');
}

/** Asks for the port, for nobody else to have it, and gives it back. null: it can be had. */
export async function portTaken(host: string, port: number): Promise<ListenError | null> {
  const cause = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    const probe = createServer();
    probe.once('error', resolve);
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });
  if (cause === null) return null;
  const code = cause.code ?? 'listen_failed';
  const why = code === 'EADDRINUSE' ? 'the port is taken' : cause.message;
  return new ListenError(host, port, code, `${why} (${code})`);
}
