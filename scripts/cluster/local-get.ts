/**
 * One GET to a node of this machine, within a time. The limit is a timer that destroys the request:
 * that of `fetch` and `AbortSignal.timeout` is lost when the garbage collector runs after the
 * answer has begun.
 */
import { get } from 'node:http';

export interface LocalAnswer {
  readonly status: number;
  readonly text: string;
}

/** Rejects when the node refuses, or has not answered in whole within `msMax`. */
export function localGet(url: string, msMax: number): Promise<LocalAnswer> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    const timer = setTimeout(() => request.destroy(new Error(`no answer in ${msMax} ms`)), msMax);
    request.on('error', reject);
    request.on('close', () => clearTimeout(timer));
  });
}
