/** POST /api/v1/locks (state-surfaces 2): acquire, renew, release, get, each with its verdict. */
import type { RefusedOutcome } from '@svc/engine';
import {
  constant,
  describedAs,
  either,
  integerBetween,
  list,
  matching,
  named,
  never,
  nullable,
  optional,
  unread,
} from '@svc/schema';
import { type LockResult, locksAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { refuseSurface } from '../../gate/gate-refusal.js';
import { body } from '../../json/json-keys.js';
import { LOCK_SLOTS_MAX, type LockOp, type LocksView } from '../../ports/lock-service.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import { replyBy, sendAnswer } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';
import { refuseKv, SURFACE_REFUSALS } from './kv-answers.js';
import {
  chargeOf,
  LOCK_OP_KEYS,
  LOCK_OPS_MAX,
  LOCKS_BODY_KEYS,
  type LockFault,
  lockOpsOf,
  readLockBody,
} from './lock-ops.js';

const NUMBER_MAX = Number.MAX_SAFE_INTEGER;

const positive = integerBetween(1, NUMBER_MAX);

/** What an operation does not read may be anything; whose tenant it is follows from the call. */
const UNREAD = {
  name: describedAs(
    '1 to 256 bytes.',
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
    matching(/^[^\u0000-\u001f\u007f-\u009f#]{1,256}$/),
  ),
  owner: optional(unread),
  limit: optional(unread),
  ttlSeconds: optional(unread),
  forever: optional(unread),
  token: optional(unread),
  slot: optional(unread),
  tenant: optional(never),
  tenantId: optional(never),
  _tenant: optional(never),
};

const OWNED = {
  ttlSeconds: describedAs('The lifetime from now on.', positive),
  forever: optional(never),
  owner: optional(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
    describedAs('1 to 256 bytes.', nullable(matching(/^[^\u0000-\u001f\u007f-\u009f]{1,256}$/))),
  ),
};

const HELD = {
  token: describedAs('As the permit was granted or renewed.', positive),
  slot: optional(describedAs('0 when absent.', nullable(integerBetween(0, LOCK_SLOTS_MAX - 1)))),
};

const lockOp = either(
  named(
    'LockAcquire',
    body(LOCK_OP_KEYS, {
      ...UNREAD,
      ...OWNED,
      op: constant('acquire'),
      limit: optional(
        describedAs('Permits of the semaphore; 1.', nullable(integerBetween(1, LOCK_SLOTS_MAX))),
      ),
    }),
  ),
  named('LockRenew', body(LOCK_OP_KEYS, { ...UNREAD, ...OWNED, ...HELD, op: constant('renew') })),
  named('LockRelease', body(LOCK_OP_KEYS, { ...UNREAD, ...HELD, op: constant('release') })),
  named('LockGet', body(LOCK_OP_KEYS, { ...UNREAD, op: constant('get') })),
);

const lockOps = list(lockOp, LOCK_OPS_MAX);

export const locksEndpoint = endpoint({
  at: 'POST /api/v1/locks',
  level: 'read-write',
  gateway: 'kv-open',
  tag: 'locks',
  summary: 'Acquires, renews, releases and shows locks and semaphores, each for itself.',
  request: {
    share: 'growing',
    reader: 'The first fault of an operation is told in the order of its rules, not of the body.',
    schema: named('LocksBody', either(lockOps, body(LOCKS_BODY_KEYS, { operations: lockOps }))),
  },
  answers: {
    200: answer('The verdict of each operation, in their order.', locksAnswer),
    ...SURFACE_REFUSALS,
    507: STORAGE_FULL,
  },
  // Four semaphores of 1,024 permits each are 700 KB.
  largeAnswer: 'read',
  reserves: true,
  handle: (front, { exchange, tenant, body }) => {
    const raws = readLockBody(body);
    if ('reason' in raws) {
      refuseFault(exchange, raws);
      return;
    }
    if (raws.length === 0) {
      exchange.json('200 OK', '{"results":[]}');
      return;
    }
    const { writes, rows, bytes } = chargeOf(raws);
    const pass = front.gate.enter(
      exchange,
      tenant,
      writes ? { kind: 'kv-write', rows, bytes } : { kind: 'kv-read' },
    );
    if (pass === null) return;
    const ops = lockOpsOf(raws);
    if ('reason' in ops) {
      pass.settle({ kind: 'refused' });
      refuseFault(exchange, ops);
      return;
    }
    exchange.handBody();
    const context: Context = { front, ops, beganMs: front.service.monotonicMs() };
    const reply = replyBy(exchange, context, render, pass);
    front.service.locks.run(tenant, ops, reply);
  },
});

interface Context {
  readonly front: Front;
  readonly ops: readonly LockOp[];
  readonly beganMs: number;
}

function refuseFault(exchange: Exchange, { reason, detail }: LockFault): void {
  refuseSurface(exchange, '400 Bad Request', { error: 'locks_bad_request', reason, detail });
}

function render(exchange: Exchange, context: Context, outcome: LocksView | RefusedOutcome): void {
  count(context, outcome);
  if (outcome.kind === 'refused') {
    refuseKv(exchange, outcome.refusal);
    return;
  }
  sendAnswer(exchange, '200 OK', locksAnswer, { results: outcome.results });
}

function count({ front, ops, beganMs }: Context, outcome: LocksView | RefusedOutcome): void {
  const { locks } = front.meters;
  const tookUs = ((front.service.monotonicMs() - beganMs) * 1000) / ops.length;
  for (const [index, { op }] of ops.entries()) {
    const result = outcome.kind === 'refused' ? undefined : outcome.results[index];
    if (result === undefined) locks.ops[op].error++;
    else locks.ops[op][applied(result) ? 'applied' : 'rejected']++;
    locks.tookUs[op].record(tookUs);
  }
}

function applied(result: LockResult): boolean {
  switch (result.op) {
    case 'acquire':
      return result.acquired;
    case 'renew':
      return result.renewed;
    case 'release':
      return result.released;
    case 'get':
      return true;
  }
}
