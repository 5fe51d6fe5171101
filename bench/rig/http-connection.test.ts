// Goal: requests go out whole, answers come back whole, an end of the connection is told once.
// Method: a server on a real socket that cuts its answers and connections as told.

import { createServer, type Server, type Socket } from 'node:net';
import { freePort } from '@svc/test';
import { afterEach, expect, test } from 'vitest';
import { ConnectionLostError, HttpConnection, requestBytes } from './http-connection.js';
import { HttpExchange } from './http-exchange.js';

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) {
    socket.destroy();
  }
  for (const server of servers.splice(0)) {
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Calls `serve` with each request as text; returns the address. */
async function serve(answer: (socket: Socket, request: string) => void) {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => answer(socket, chunk.toString()));
  });
  servers.push(server);
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { host: '127.0.0.1', port };
}

test('request bytes carry the length of their body in bytes', () => {
  expect(requestBytes('GET', '/x').toString()).toBe('GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n');
  expect(requestBytes('POST', '/x', '"é"').toString()).toMatch(/Content-Length: 4\r\n\r\n"é"$/);
});

test('a large answer in pieces, then another on the same connection', async () => {
  const large = 'x'.repeat(700_000);
  const requests: string[] = [];
  const address = await serve((socket, request) => {
    requests.push(request);
    const body = requests.length === 1 ? large : 'second';
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`);
    setImmediate(() => socket.write(body.slice(10)));
  });
  const exchange = new HttpExchange(address);
  const first = await exchange.request('GET', '/first');
  expect(first.body.toString() === large).toBe(true);
  // The second answer shorter than ten bytes is complete in its first piece.
  const second = await exchange.request('GET', '/second');
  expect(second.body.toString()).toBe('second');
  expect(requests.map((request) => request.split(' ')[1])).toEqual(['/first', '/second']);
  exchange.close();
});

test('a lost connection rejects the request, and the next one connects again', async () => {
  let requests = 0;
  const address = await serve((socket) => {
    requests += 1;
    if (requests === 1) {
      socket.destroy();
    } else {
      socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    }
  });
  const exchange = new HttpExchange(address);
  await expect(exchange.request('GET', '/')).rejects.toThrow();
  expect((await exchange.request('GET', '/')).status).toBe(204);
  exchange.close();
});

test('a missing answer ends in a ConnectionLostError', async () => {
  const address = await serve(() => undefined);
  const exchange = new HttpExchange(address);
  await expect(exchange.request('GET', '/', undefined, 20)).rejects.toThrow(ConnectionLostError);
});

test('a refused connection rejects', async () => {
  const silent = { onAnswer: () => undefined, onClosed: () => undefined };
  const address = { host: '127.0.0.1', port: await freePort() };
  await expect(HttpConnection.open(address, silent)).rejects.toThrow(/ECONNREFUSED/);
});

test('an answer that is not understood closes the connection, told once', async () => {
  const address = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
  const reasons: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const listener = {
      onAnswer: () => reject(new Error('there was no answer to deliver')),
      onClosed: (reason: Error) => {
        reasons.push(reason.message);
        setImmediate(resolve);
      },
    };
    HttpConnection.open(address, listener).then(
      (connection) => connection.send(requestBytes('GET', '/')),
      reject,
    );
  });
  expect(reasons).toEqual([expect.stringContaining('content-length')]);
});
