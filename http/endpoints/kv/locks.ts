/** POST /api/v1/locks (state-surfaces 2): acquire, renew, release, get, each with its verdict. */
import type { RefusedOutcome } from '@svc/engine';
import type { LockResult, LocksAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { refuseSurface } from '../../gate/gate-refusal.js';
import { GatedReply } from '../../gate/gated-reply.js';
import type { LockOp, LocksView } from '../../ports/lock-service.js';
import { PendingReply } from '../../routing/reply.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';
import { refuseKv } from './kv-answers.js';
import { chargeOf, type LockFault, lockOpsOf, readLockBody } from './lock-ops.js';

export const locksRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'POST',
  path: '/api/v1/locks',
  level: 'read-write',
  body: 'growing',
  // Four semaphores of 1,024 permits each are 700 KB.
  largeAnswer: 'read',
  reserves: true,
  handle,
};

interface Context {
  readonly front: Front;
  readonly ops: readonly LockOp[];
  readonly beganMs: number;
}

function handle(front: Front, { exchange, tenant, body }: RouteRequest): void {
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
  const reply = new PendingReply(exchange, front.logger, context, render);
  front.service.locks.run(tenant, ops, new GatedReply(pass, reply));
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
  const answer: LocksAnswer = { results: outcome.results };
  exchange.json('200 OK', JSON.stringify(answer));
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
