/**
 * A `fetch` that sends another `Host` than the address has, which the one of Node refuses to do.
 * Node's own client is loaded when it is needed, by a name that no bundler follows, so that the
 * package has no import that a browser lacks.
 */
import type { Fetch, HeardResponse, SentRequest } from '../base/platform.js';

interface Incoming {
  readonly statusCode?: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  setEncoding(encoding: 'utf8'): void;
  on(event: 'data', act: (text: string) => void): void;
  on(event: 'end', act: () => void): void;
  on(event: 'error', act: (error: Error) => void): void;
}

interface HttpModule {
  request(
    url: string,
    options: Omit<SentRequest, 'body'>,
    hear: (response: Incoming) => void,
  ): { on(event: 'error', act: (error: Error) => void): void; end(body?: string): void };
}

export function hostFetch(host: string): Fetch {
  return async (url, { body, ...request }) => {
    const name = `node:${new URL(url).protocol.slice(0, -1)}`;
    const { request: send } = (await import(name)) as HttpModule;
    const length = body === undefined ? {} : { 'content-length': `${byteLength(body)}` };
    const options = { ...request, headers: { ...request.headers, ...length, host } };
    return new Promise((resolve, reject) => {
      const sent = send(url, options, (response) => resolve(heard(response)));
      sent.on('error', reject);
      sent.end(body);
    });
  };
}

function heard(response: Incoming): HeardResponse {
  const { statusCode = 0, headers } = response;
  return {
    status: statusCode,
    headers: { get: (name) => headers[name.toLowerCase()]?.toString() ?? null },
    text: () =>
      new Promise((resolve, reject) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part) => {
          text += part;
        });
        response.on('end', () => resolve(text));
        response.on('error', reject);
      }),
  };
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
