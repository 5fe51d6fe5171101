// Goal: bodies of one cluster leave room to those of others, also to those that come from the same
// address. Method: half bodies as calls in memory, more than there is room for, then whole ones.
import { ROUTES, Router, UNBOUNDED } from '@svc/http';
import { expect, test } from 'vitest';
import { FakeClock } from '../base/clock.fake.js';
import { REFUSALS } from '../base/refusal.js';
import { AddressRates } from '../edge/address-rates.js';
import { ClientAddresses } from '../edge/client-address.js';
import { Networks } from '../edge/networks.js';
import { Origins } from '../edge/origins.js';
import { SecurityHeaders } from '../edge/security-headers.js';
import { Targets } from '../pipeline/targets.js';
import { GatewayListener } from './listener.js';

const PUSH = '/api/v1/push';
const BODY_BYTES = 1_000_000;
const ADDRESS = Uint8Array.of(127, 0, 0, 1);
const HALF = Buffer.alloc(900_000, ' ');

/** Its pipeline reads a body for the owner that the request's `Host` names, and then refuses. */
function listenerOf(clock: FakeClock): GatewayListener {
  const none = () => {
    throw new Error('nothing else is asked');
  };
  const parts: ConstructorParameters<typeof GatewayListener>[0] = {
    upstream: { call: none, carryOut: none },
    passage: {
      admit: (incoming) => ({
        kind: 'body',
        bytesMax: 2 * BODY_BYTES,
        owner: incoming.header('host') ?? null,
        goOn: () => ({ kind: 'refused', refusal: REFUSALS.pushBlocked }),
      }),
    },
    targets: new Targets(ROUTES, new Router(ROUTES)),
    routes: { answer: none, gatePage: none },
    addresses: new ClientAddresses(new Networks([]), 64),
    rates: new AddressRates({ data: null, web: null, trackedMax: 10 }),
    origins: new Origins({ corsOrigins: [], corsHeaders: '', publicOrigins: [] }),
    security: new SecurityHeaders('auto', 60),
    clock,
    newRequestId: none,
    logger: { error: none },
    about: { health: {}, jwks: {} },
  };
  return new GatewayListener(parts, {
    head: { headersMax: 20, bytesMax: 9_000, valueBytesMax: 4_000, uriBytesMax: 2_000 },
    bodyBytesMax: 2 * BODY_BYTES,
    timeouts: { requestMs: 0, longPollGraceMs: 0, longPollMaxMs: 0, exempt: [] },
    webBodyBytesMax: 100,
    addressHeader: '',
    cookieNames: [],
    hasTenants: true,
    connections: UNBOUNDED,
    onConnectionsFull: none,
    tls: null,
  });
}

test('half bodies of one cluster take none of the room that others need', async () => {
  const clock = new FakeClock();
  const listener = listenerOf(clock);
  const statuses: string[] = [];
  const send = (owner: string | null, chunk: Uint8Array, isLast: boolean) => {
    const headers: [string, string][] = [['content-length', String(BODY_BYTES)]];
    if (owner !== null) headers.push(['host', owner]);
    const call = listener.call(
      { method: 'POST', target: PUSH, headers, body: 'chunks', peer: ADDRESS, identity: null },
      {
        onHead: ({ status }) => statuses.push(status.slice(0, 3)),
        onBytes: ({ length }) => length,
        onEnd: () => {},
        onBroken: () => {},
        onReadOn: () => {},
      },
    );
    call.sendBody(chunk, isLast);
    return call;
  };
  const halves = Array.from({ length: 120 }, () => send('hog', HALF, false));
  // 97 of them take three quarters of 112 MiB.
  expect(statuses.splice(0)).toEqual(Array(23).fill('503'));
  for (const owner of ['other', 'hog', null]) {
    send(owner, HALF, true);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(statuses).toEqual(['403', '503', '403']);
  for (const call of halves) call.abort();
  await listener.stop(0);
});
