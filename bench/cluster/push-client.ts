// One producer's way to one node: kept-alive connections, given up when the node announces that it
// closes them, as any client of HTTP does. What went wrong tells whether a request was on its way.

import { Agent, request } from 'node:http';
import type { Address } from '../rig/http-connection.js';

/** `refused`: no connection was made. `lost`: the request may or may not have acted. */
export type PushAnswer = { readonly status: number; readonly text: string } | 'refused' | 'lost';

export class PushClient {
  readonly #address: Address;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(address: Address) {
    this.#address = address;
  }

  push(body: string, timeoutMs: number): Promise<PushAnswer> {
    return new Promise((resolve) => {
      let connected = false;
      const sent = request({
        ...this.#address,
        agent: this.#agent,
        method: 'POST',
        path: '/api/v1/push',
        headers: { 'content-length': Buffer.byteLength(body) },
        timeout: timeoutMs,
      });
      const fail = () => resolve(connected ? 'lost' : 'refused');
      sent.on('socket', (socket) => {
        if (!socket.connecting) connected = true;
        else {
          socket.once('connect', () => {
            connected = true;
          });
        }
      });
      sent.on('timeout', () => sent.destroy());
      sent.on('error', fail);
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', fail);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
