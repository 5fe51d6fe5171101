/** A `fetch` that takes any certificate, which the one of Node cannot be told. */
import type { IncomingMessage } from 'node:http';
import { Agent, request as send } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Fetch } from '@svc/client';

const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });

export const insecureFetch: Fetch = (url, { body, headers, method, signal }) => {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const options = { agent, method, signal, headers: { ...headers, ...length } };
  return new Promise((resolve, reject) => {
    const sent = send(url, options, (response: IncomingMessage) => {
      resolve({
        status: response.statusCode ?? 0,
        headers: { get: (name) => response.headers[name.toLowerCase()]?.toString() ?? null },
        text: () => text(response),
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
};
