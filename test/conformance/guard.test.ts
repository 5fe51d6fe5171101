/** Goal: what a run may send. Method: requests as rows make them, judged in both modes. */
import { describe, expect, it } from 'vitest';
import { RowGuard } from './guard.js';

const NUMBER = 123_456_780_001;
const OWN = `row.q${NUMBER}`;
const TENANT = 'c0ffeabc-0000-4000-8000-123456780001';
const OTHER = '11111111-0000-4000-8000-000000000001';
const DEFAULT = '00000000-0000-0000-0000-000000000001';
const ID = '0199d0d0-1111-7000-8000-0000000000aa';

type Request = [line: string, body?: string | undefined, tenant?: string | undefined];

function held(guard: RowGuard, [line, body, tenant]: Request): boolean {
  const [method = '', path = ''] = line.split(' ');
  try {
    guard.judge({ method, path, body, tenant });
    return false;
  } catch {
    return true;
  }
}

const inQueues = () => new RowGuard('queues', 'c0ffeabc', NUMBER, false);
const inTenants = () => new RowGuard('tenants', 'c0ffeabc', NUMBER, false);
const item = (queue: string) => `{"items":[{"queue":"${queue}","payload":1}]}`;

describe('where everybody shares one tenant', () => {
  it.each<Request>([
    ['POST /api/v1/push', item(OWN)],
    ['POST /api/v1/push', item(`${OWN}.more`)],
    ['POST /api/v1/push', 'nonsense'],
    ['POST /api/v1/configure', `{"queue":"${OWN}"}`],
    [`GET /api/v1/pop/queue/${OWN}?wait=true`],
    [`GET /api/v1/pop?task=q${NUMBER}`],
    [`DELETE /api/v1/resources/queues/${OWN}`],
    [`POST /api/v1/consumer-groups/g/queues/${OWN}/seek`, '{}'],
    [`GET /api/v1/dlq?queue=${OWN}`],
    ['POST /api/v1/ack', `{"transactionId":"a","partitionId":"${ID}"}`],
    [`POST /api/v1/lease/${ID}/extend`, '{}'],
    [`POST /api/v1/dlq/${ID}/replay`, '{}'],
    ['GET /health'],
    ['GET /metrics/prometheus'],
  ])('%s %s leaves', (...request: Request) => {
    expect(held(inQueues(), request)).toBe(false);
  });

  it.each<Request>([
    ['POST /api/v1/push', item('orders')],
    ['POST /api/v1/push', `{"items":[{"queue":"${OWN}","payload":1},{"queue":"orders"}]}`],
    ['POST /api/v1/push', item('row.q123456780002')],
    ['POST /api/v1/transaction', `{"operations":[],"kv":[{"op":"put"}]}`],
    ['POST /api/v1/transaction', `{"operations":[],"timers":[]}`],
    ['POST /api/v1/ack', '{"transactionId":"a","partitionId":"7"}'],
    [`POST /api/v1/dlq/${ID}/replay`, '{"queue":"orders"}'],
    ['GET /api/v1/pop'],
    ['GET /api/v1/pop?namespace=row'],
    ['GET /api/v1/pop/queue/orders'],
    [`GET /api/v1/pop/queue/orders?queue=${OWN}`],
    ['GET /api/v1/resources/queues'],
    ['DELETE /api/v1/consumer-groups/g'],
    ['POST /api/v1/consumer-groups/g/subscription', '{}'],
    ['POST /api/v1/kv', '[]'],
    ['PUT /api/v1/kv/n/k', '{}'],
    [`DELETE /api/v1/timers/${OWN}/k`],
    ['POST /api/v1/locks', '[]'],
    [`GET /api/v1/ephemeral/pop?queue=${OWN}`],
    [`DELETE /api/v1/ephemeral/queue/${OWN}`],
    ['POST /api/v1/traces', '{}'],
    ['POST /streams/v1/queries', '{}'],
    ['POST /api/v1/system/kv-timers', '{}'],
    ['DELETE /api/v1/resources/tenant', undefined],
    ['DELETE /api/v1/messages/7/a'],
    ['POST /api/v1/push', item(OWN), OTHER],
  ])('%s %s %s is held back', (...request: Request) => {
    const guard = inQueues();
    expect(held(guard, request)).toBe(true);
    expect(guard.unmet?.message).toContain('needs tenants of its own');
    expect(guard.queues).toEqual([]);
  });

  it('the number of a partition counts once an answer has told it', () => {
    const guard = inQueues();
    guard.saw('{"partitions":[{"id":"7"}]}');
    expect(held(guard, ['POST /api/v1/ack', '{"partitionId":"7"}'])).toBe(false);
    expect(held(guard, ['POST /api/v1/ack', '{"partitionId":"8"}'])).toBe(true);
  });

  it('a list may be read where it is to be refused', () => {
    const guard = new RowGuard('queues', 'c0ffeabc', NUMBER, true);
    expect(held(guard, ['GET /api/v1/status?from=yesterday'])).toBe(false);
    expect(held(guard, ['GET /api/v1/pop?batch=x'])).toBe(true);
  });

  it('queues that were named are remembered', () => {
    const guard = inQueues();
    held(guard, ['POST /api/v1/push', item(`${OWN}.a`)]);
    held(guard, [`GET /api/v1/pop/queue/${OWN}`]);
    expect(guard.queues).toEqual([`${OWN}.a`, OWN]);
  });
});

describe('where rows have tenants of their own', () => {
  it.each<Request>([
    ['POST /api/v1/push', item('any'), TENANT],
    ['POST /api/v1/kv', '[]', TENANT.toUpperCase()],
    ['POST /api/v1/push', item('any'), 'no uuid'],
    ['GET /api/v1/resources/queues', undefined, OTHER],
    ['GET /api/v1/resources/queues', undefined, undefined],
    ['POST /api/v1/resources/quota', '{"kind":"kv"}', TENANT],
    ['POST /api/v1/system/quota', `{"kind":"kv","tenant":"${TENANT}"}`, TENANT],
    [`DELETE /api/v1/resources/tenant?tenant=${TENANT}`, undefined, TENANT],
  ])('%s %s %s leaves', (...request: Request) => {
    expect(held(inTenants(), request)).toBe(false);
  });

  it.each<Request>([
    ['POST /api/v1/push', item('any'), OTHER],
    ['POST /api/v1/push', item('any'), undefined],
    ['POST /api/v1/push', item('any'), ''],
    ['GET /api/v1/pop/queue/any', undefined, DEFAULT],
    ['POST /api/v1/resources/quota', `{"kind":"kv","tenantId":"${OTHER}"}`, TENANT],
    [`DELETE /api/v1/resources/tenant?tenant=${DEFAULT}`, undefined, TENANT],
    ['DELETE /api/v1/resources/tenant', `{"tenant":"${OTHER}"}`, TENANT],
    ['POST /api/v1/system/kv-timers', '{"kv":true}', TENANT],
    ['POST /api/v1/system/raft/transfer', '{"to":1}', TENANT],
  ])('%s %s %s is held back', (...request: Request) => {
    expect(held(inTenants(), request)).toBe(true);
  });

  it('its tenants are remembered, and no other', () => {
    const guard = inTenants();
    held(guard, ['POST /api/v1/push', item('any'), TENANT]);
    held(guard, ['GET /api/v1/resources/queues', undefined, OTHER]);
    held(guard, ['POST /api/v1/push', item('any'), 'no uuid']);
    expect(guard.tenants).toEqual([TENANT]);
  });
});
