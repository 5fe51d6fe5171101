import { createServer } from 'node:net';

/** The listener could not be opened; the message names host, port and cause. */
export class ListenError extends Error {
  readonly code: string;

  constructor(host: string, port: number, code: string, cause: string) {
    super(`cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${cause}`);
    this.name = 'ListenError';
    this.code = code;
  }
}

/** The native layer does not say why; the system does, when it is asked for the same once more. */
export async function listenErrorOf(host: string, port: number): Promise<ListenError> {
  const cause = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    const probe = createServer();
    probe.once('error', resolve);
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });
  if (cause === null) {
    return new ListenError(host, port, 'listen_failed', 'the address was refused');
  }
  const code = cause.code ?? 'listen_failed';
  const why = code === 'EADDRINUSE' ? 'the port is taken' : cause.message;
  return new ListenError(host, port, code, `${why} (${code})`);
}
