// A server that does nothing: it takes a request with its body and answers it with as many bytes as
// a push is answered with. What a request costs here, no broker over HTTP can do without. Started
// as a process of its own, on `PORT`; `BARE_SERVER` names the library.

import { createServer } from 'node:http';
import { loadUws, type UwsResponse } from '@svc/http';

const BODY = Buffer.from(
  '[{"index":0,"message_id":"01a1fda7-d989-7000-8000-060000000000",' +
    '"transaction_id":"01a1fda7-d989-7000-8000-060000000000",' +
    '"queueName":"push","status":"queued"}]',
);
const HOST = '127.0.0.1';
const JSON_TYPE = 'application/json';

function startNative(port: number): void {
  const uws = loadUws();
  const app = uws.App();
  app.any('/*', (response, request) => {
    const isPush = request.getCaseSensitiveMethod() === 'POST';
    response.onAborted(() => {});
    if (!isPush) answer(response, '200 OK');
    else {
      response.onData((_chunk, isLast) => {
        if (isLast) answer(response, '201 Created');
      });
    }
  });
  app.listen(HOST, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (socket === false) throw new Error(`port ${port} is taken`);
  });
}

function answer(response: UwsResponse, status: string): void {
  response.cork(() => {
    response.writeStatus(status).writeHeader('Content-Type', JSON_TYPE).end(BODY);
  });
}

function startNode(port: number): void {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const status = request.method === 'POST' ? 201 : 200;
      response.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': BODY.length });
      response.end(BODY);
    });
  });
  server.listen(port, HOST);
}

const port = Number(process.env.PORT);
if (process.env.BARE_SERVER === 'node:http') startNode(port);
else startNative(port);
