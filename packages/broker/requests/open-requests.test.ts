// Goal: ended requests do not gather, those that are open stay in order, and whoever walks the list
// while it is made anew meets each of them once. Method: requests that are ended by hand.
import type { Command } from '@svc/engine';
import { expect, test } from 'vitest';
import { ClientRequest } from './held-request.js';
import { OpenRequests } from './open-requests.js';

const COMMAND: Command = { kind: 'ack', tenant: 't', consumerGroup: 'g', items: [] };

function added(open: OpenRequests, count: number): ClientRequest[] {
  return Array.from({ length: count }, () => {
    const request = new ClientRequest({ end: () => {} }, COMMAND, 0, () => {}, null);
    open.add(request);
    return request;
  });
}

function end(open: OpenRequests, request: ClientRequest): void {
  request.place = 'ended';
  open.ended();
}

test('ended requests never outnumber the open ones by more than a few', () => {
  const open = new OpenRequests();
  const lasting = added(open, 10);
  for (let i = 0; i < 10_000; i++) {
    for (const request of added(open, 3)) end(open, request);
    if (open.all.length > 150) expect(open.all.length).toBeLessThanOrEqual(150);
  }
  expect(open.all.filter(({ place }) => place !== 'ended')).toEqual(lasting);
  expect(open.idle).toBe(false);
  for (const request of lasting) end(open, request);
  expect(open.idle).toBe(true);
  open.letGo();
  expect(open.all).toEqual([]);
});

test('a walk that ends what it meets meets all', () => {
  const open = new OpenRequests();
  const requests = added(open, 1000);
  const met: ClientRequest[] = [];
  for (const request of open.all) {
    met.push(request);
    end(open, request);
  }
  expect(met).toEqual(requests);
  expect(open.all.length).toBeLessThan(64);
});
