/**
 * Fetches the text of a key set, within a time and a size.
 *
 * The limit of time is a timer of our own, which holds the request and destroys it. With `fetch`
 * and `AbortSignal.timeout` the limit was lost: the runtime ties the signal to the request by a
 * weak reference, so that a garbage collection lets go of the tie, and a provider that never ends
 * its answer holds up every token with an unknown key for as long as it likes.
 */
import { type ClientRequest, get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';

/** Resolves with the text of the answer; rejects when there is none within `timeoutMs`. */
export type FetchText = (url: string, timeoutMs: number) => Promise<string>;

/** The fetch gave no key set: no answer in time, another status than 200, or another text. */
export class KeySetError extends Error {
  readonly code = 'key_set';
}

/** An RSA key of 4,096 bits with its certificates is 8 KiB of text. */
export const SET_BYTES_MAX = 4 * 1024 * 1024;

const HEADERS = {
  accept: 'application/json, application/jwk-set+json',
  'accept-encoding': 'identity',
};

/** Not through redirects, which could lead from https to http. */
export const fetchText: FetchText = (url, timeoutMs) =>
  new Promise((resolve, reject) => {
    const get = url.toLowerCase().startsWith('https:') ? httpsGet : httpGet;
    // A connection for each: between two fetches minutes pass.
    const request = get(url, { agent: false, headers: HEADERS });
    const timer = setTimeout(() => {
      end(new KeySetError(`no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    /** The first call counts. */
    const end = (result: Error | string) => {
      clearTimeout(timer);
      request.destroy();
      if (typeof result === 'string') resolve(result);
      else reject(result);
    };
    listen(request, end);
  });

function listen(request: ClientRequest, end: (result: Error | string) => void): void {
  request.on('error', end);
  request.on('response', (response) => {
    if (response.statusCode === 200) collect(response, end);
    else end(new KeySetError(`status ${response.statusCode}`));
  });
}

function collect(response: IncomingMessage, end: (result: Error | string) => void): void {
  const pieces: Uint8Array[] = [];
  let length = 0;
  response.on('data', (piece: Uint8Array) => {
    pieces.push(piece);
    length += piece.length;
    if (length > SET_BYTES_MAX) end(new KeySetError(`longer than ${SET_BYTES_MAX} bytes`));
  });
  response.on('error', end);
  response.on('end', () => end(Buffer.concat(pieces).toString('utf8')));
}
