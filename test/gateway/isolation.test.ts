/**
 * Goal: nothing of a tenant is visible to another one, or changed by it, through any route.
 * Method: a tenant that has something on every surface, and a stranger with all rights on a cluster
 * of its own, who knows every name and id of it and asks every route with them, each at the next of
 * three nodes, with the headers by which a trusted hop would name the tenant. Its answers must hold
 * nothing that it did not know, and be those that another stranger gets for names of nobody: so
 * they do not even tell that something is there. Then the tenant finds everything as it was.
 */

import { CLASSES } from '@svc/gateway';
import { ROUTES } from '@svc/http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Caller, callerWith } from '../process/http-client.js';
import { accessHeaders, GatewayNodes, type TenantAccess } from './gateway-nodes.js';
import {
  ASKED,
  CONTENT,
  isRead,
  mark,
  type Named,
  plain,
  type Sent,
  unknownTo,
  unnamed,
  viewOf,
} from './marked-tenant.js';

let nodes: GatewayNodes;
let owner: Caller;
let named: Named;
let stranger: Stranger;
let other: Stranger;
let failed = true;

beforeAll(async () => {
  nodes = await GatewayNodes.open();
  const access = await nodes.provision({ slug: 'owner' });
  owner = as(access, 0);
  named = await mark(owner, access.brokerTenant);
  stranger = { access: await nodes.provision({ slug: 'stranger' }), named };
  other = { access: await nodes.provision({ slug: 'other' }), named: unnamed(named) };
});

afterAll(() => nodes?.close(failed));

interface Stranger {
  readonly access: TenantAccess;
  readonly named: Named;
}

/** A client with the credential of a cluster, at one node. */
function as(access: TenantAccess, node: number, more: Record<string, string> = {}): Caller {
  const gateway = nodes.gateways[node % nodes.gateways.length] as Caller;
  return callerWith(gateway, { ...more, ...accessHeaders(access) });
}

/** As whoever is in front of a broker would name a tenant, a node or a person. */
const SPOOFED = ({ brokerTenant }: Named) => ({
  'x-svc-tenant': brokerTenant,
  'x-svc-role': 'admin',
  'x-svc-subject': 'somebody',
});

let turn = 0;

async function asks(who: Stranger, at: string, node: number): Promise<[Sent, Answer][]> {
  const [method = ''] = at.split(' ');
  const client = as(who.access, node, SPOOFED(who.named));
  const answers: [Sent, Answer][] = [];
  for (const { path, body } of (ASKED[at] as (typeof ASKED)[string])(who.named)) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    answers.push([{ method, path, body }, await client.send(method, path, text)]);
  }
  return answers;
}

/** Routes that nothing is changed by come first: what a stranger makes is its own. */
const READS = Object.keys(ASKED).filter(isRead);
const OTHERS = Object.keys(ASKED).filter((at) => !isRead(at));

let before: Record<string, string>;

test('every route that a tenant may use is asked', async () => {
  const open = ROUTES.filter(({ gateway }) =>
    ['tenants', 'everybody'].includes(CLASSES[gateway].gate),
  );
  expect(Object.keys(ASKED).sort()).toEqual(
    open.map(({ method, path }) => `${method} ${path}`).sort(),
  );
  before = await viewOf(owner, named);
  const shown = Object.values(before).join();
  for (const one of [CONTENT, named.queue, named.group, named.timer, named.trace, named.kvKey]) {
    expect(shown, 'the tenant itself sees it').toContain(one);
  }
});

/** `marks`: what must not be in any answer, beside what the request has of it. */
async function expectNothing(at: string, marks: readonly string[]): Promise<void> {
  turn++;
  const told = await asks(stranger, at, turn);
  const toldOther = await asks(other, at, turn);
  for (const [i, [sent, answer]] of told.entries()) {
    const where = `${sent.method} ${sent.path}`;
    const rest = unknownTo(sent, answer, named);
    for (const one of [CONTENT, ...ids(), ...marks]) expect(rest, where).not.toContain(one);
    // How many entries the log has, a node tells everybody.
    if (at === 'GET /health') continue;
    const [, otherAnswer] = toldOther[i] as [Sent, Answer];
    expect([answer.status, plain(answer.text, named)], where).toEqual([
      otherAnswer.status,
      plain(otherAnswer.text, other.named),
    ]);
  }
}

test.each(READS)('%s tells a stranger nothing', (at) => expectNothing(at, ['telltale']));

test.each(OTHERS)('%s gives a stranger nothing', (at) => expectNothing(at, []));

/** Made by the broker, and long enough not to be in an answer by chance. */
function ids(): readonly string[] {
  return Object.values(named).filter((one) => one.length >= 36);
}

test('routes that are nobody’s tell a tenant nothing', async () => {
  const closed = ROUTES.filter(({ gateway }) => CLASSES[gateway].gate !== 'tenants');
  for (const { method, path, gateway } of closed) {
    if (CLASSES[gateway].gate === 'everybody') continue;
    const client = as(stranger.access, turn++, SPOOFED(named));
    const { status, text } = await client.send(method, path.replaceAll(/\{.*?\}/g, '1'), undefined);
    // `/auth/me` of the front is the gateway's own.
    if (path === '/auth/me') continue;
    expect([status, text], `${method} ${path}`).toEqual([
      404,
      '{"error":"not available","code":"route_blocked"}',
    ]);
  }
});

test('the tenant has all that it had, as it was', async () => {
  const after = await viewOf(owner, named);
  expect(after).toEqual(before);
  failed = false;
});
