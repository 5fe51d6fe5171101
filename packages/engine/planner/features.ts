/**
 * All features of the engine, one descriptor each. A new feature is a row here, its rows and
 * effects in `state/`, its commands in `base/commands/`, and the folder that plans them.
 *
 * The order is that of their jobs within a turn:
 *
 * - `first`, before any command: the cluster's version, because effects of this very entry may need
 *   it; changes of groups that go on, because cursors that the commands of this entry make are
 *   younger than a deletion that has begun; purges, whose queues are gone before a command of this
 *   entry asks for them.
 * - `fills`, between the commands that drain and those that fill: timers that are due, because
 *   pushes of clients could keep them waiting for ever.
 * - `last`, behind all commands: what no request waits for, or what takes many turns anyway. Each
 *   has a bound of its own, so no command waits longer than a turn for it. Relocation comes at the
 *   very end, for it fills what room the entry has left.
 *
 * After them the planner serves parked pops.
 */

import { kvStoredBytes, kvTurnBytes } from '../base/commands/kv.js';
import { cycleGrows } from '../base/commands/streams.js';
import { timerStoredBytes } from '../base/commands/timers.js';
import { kvPrice, PRICES, pushPrice, TURN_UNITS, timersPrice } from '../base/work-prices.js';
import { refusedBy } from '../draft/name-bounds.js';
import { planEphemeral, purgeEphemeral } from '../features/ephemeral/plan.js';
import type { Job } from '../features/job.js';
import { KvExpiry } from '../features/kv/expiry.js';
import { planKv, purgeKv } from '../features/kv/plan.js';
import { purgeTimers } from '../features/timers/plan.js';
import { planRedrive, REDRIVE_BYTES } from '../push/redrive.js';
import { planReplay, replayBytes } from '../push/replay.js';
import { TIMERS_STAGE } from '../state/purge-table.js';
import { standbyRoleOf } from '../state/standby/tables.js';
import { planCycle } from '../streams/cycle.js';
import { planRegisterStream } from '../streams/register.js';
import { purgeStreams, StreamSweep } from '../streams/sweep.js';
import { DeadLetterDrops } from '../upkeep/dead-letter-drops.js';
import { GroupChanges } from '../upkeep/group-changes.js';
import { planGrant, planSwitches, purgeGrants } from '../upkeep/operators.js';
import { PartitionCleanup } from '../upkeep/partition-cleanup.js';
import { TenantPurges } from '../upkeep/purge.js';
import { planConfigure, QueueSweeps } from '../upkeep/queues.js';
import { Retention } from '../upkeep/retention.js';
import { purgeTraces, TraceExpiry } from '../upkeep/traces.js';
import type { AnyFeature, Feature } from './feature.js';

/** Lets the type of the memory follow from `lead`. */
export function feature<Memory extends Job | null>(form: Feature<Memory>): AnyFeature {
  return form;
}

const clusterVersion = feature({ at: 'first', lead: ({ versions }) => versions });

const groups = feature({
  at: 'first',
  lead: ({ state, delivery, limits, names }) => {
    const { groupChangeRowsMax: rowsPerTurn, requestWindowMs: windowMs } = limits;
    return new GroupChanges(state, delivery, { rowsPerTurn, windowMs, names });
  },
  commands: {
    seek: { plan: ({ draft, ticket }, command, changes) => changes.plan(draft, command, ticket) },
    'delete-group': {
      plan: ({ draft, ticket }, command, changes) => changes.plan(draft, command, ticket),
      mustLead: (draft, command, changes) => changes.mustLead(draft, command),
    },
    'subscribe-group': {
      plan: ({ draft, ticket }, command, changes) => changes.plan(draft, command, ticket),
    },
  },
});

/** What operators set, and the purge of a tenant. */
const tenants = feature({
  at: 'first',
  lead: ({ state, stages }) => new TenantPurges(state, stages),
  commands: {
    'set-switches': { plan: ({ draft }, command) => planSwitches(draft, command) },
    'set-grant': { plan: ({ draft }, command) => planGrant(draft, command) },
    'purge-tenant': {
      takesSeveralTurns: true,
      plan: ({ draft, ticket }, { tenant }, purges) => {
        purges.begin(draft, tenant, ticket);
        return null;
      },
    },
  },
  purge: [{ number: 7, step: purgeGrants }],
});

const timers = feature({
  at: 'fills',
  lead: (site) => site.timers,
  commands: {
    timers: {
      fills: (call) => timerStoredBytes(call) > 0,
      units: timersPrice,
      bytes: timerStoredBytes,
      plan: ({ draft, site }, call, memory) => {
        const closed = refusedBy(site.names?.judgeTimers(draft.state, call) ?? null);
        return closed ?? memory.plan(draft, call);
      },
    },
  },
  purge: [{ number: TIMERS_STAGE, step: purgeTimers }],
});

const queues = feature({
  at: 'last',
  lead: ({ state, delivery, limits }) => new QueueSweeps(state, delivery, limits.sweepRowsMax),
  commands: {
    configure: {
      units: () => PRICES.newQueue + PRICES.newPartition,
      plan: ({ draft, site }, command) => planConfigure(draft, command, site.delivery, site.names),
    },
    'delete-queue': {
      takesSeveralTurns: true,
      plan: ({ draft, ticket, room }, command, sweeps) => {
        return sweeps.plan(draft, command, ticket, room);
      },
      waitAgain: (sweeps, command, outcome, ticket) => sweeps.waitAgain(command, outcome, ticket),
    },
  },
  purge: [
    { number: 1, step: (step, sweeps) => sweeps.purge(step) },
    // A purge that is answered has waited for the last row of the queues of the stage above.
    { number: 6, step: ({ tenant, next }, sweeps) => (sweeps.isSweeping(tenant) ? next : null) },
  ],
});

const traces = feature({
  at: 'last',
  lead: ({ state, limits }) => new TraceExpiry(state, limits.traceRetentionSeconds),
  commands: {
    trace: {
      bytes: ({ data }) => data.length,
      plan: ({ draft }, command, expiry) => expiry.plan(draft, command),
    },
  },
  purge: [{ number: 5, step: purgeTraces }],
});

const deadLetters = feature({
  at: 'last',
  lead: () => new DeadLetterDrops(),
  commands: {
    'drop-dead-letters': {
      takesSeveralTurns: true,
      plan: ({ ticket }, command, drops) => {
        drops.begin(command, ticket);
        return null;
      },
      waitAgain: (drops, command, outcome, ticket) => drops.waitAgain(command, outcome, ticket),
    },
    replay: {
      fills: () => true,
      // Its payload leaves the rows, but goes into the log.
      grows: true,
      turnBytes: (command, state) => replayBytes(state, command),
      plan: ({ draft, room }, command) => planReplay(draft, command, room.pushes),
    },
    redrive: {
      fills: () => true,
      grows: true,
      // A whole turn, so that no turn has two of them (redrive.ts).
      units: () => TURN_UNITS,
      turnBytes: () => REDRIVE_BYTES,
      plan: ({ draft, room }, command) => planRedrive(draft, command, room.pushes),
    },
  },
});

const retention = feature({
  at: 'last',
  lead: ({ state, limits }) => new Retention(state, limits.retention),
});

const cleanup = feature({
  at: 'last',
  lead: ({ state, limits, delivery }) => {
    return new PartitionCleanup(state, limits.cleanup ?? null, delivery);
  },
});

const kv = feature({
  at: 'last',
  lead: ({ state }) => new KvExpiry(state),
  commands: {
    kv: {
      fills: () => true,
      units: kvPrice,
      bytes: kvStoredBytes,
      turnBytes: kvTurnBytes,
      plan: ({ draft, site }, call) => planKv(draft, call, site.limits.entryBytesMax),
    },
  },
  purge: [{ number: 2, step: purgeKv }],
});

const streams = feature({
  at: 'last',
  lead: ({ state }) => new StreamSweep(state),
  commands: {
    'register-stream': {
      grows: true,
      plan: ({ draft }, command) => planRegisterStream(draft, command),
    },
    'stream-cycle': {
      fills: ({ pushes }) => pushes !== null,
      units: ({ state, pushes }) => {
        return state.keys.length * PRICES.streamKey + (pushes === null ? 0 : pushPrice(pushes));
      },
      bytes: (cycle) => (cycleGrows(cycle) ? cycle.body.length : 0),
      plan: ({ draft, room, site }, command) => {
        const { entryBytesMax } = site.limits;
        return planCycle(draft, site.delivery.memory, entryBytesMax, command, room.pushes);
      },
    },
  },
  purge: [{ number: 3, step: purgeStreams }],
});

const ephemeral = feature({
  lead: () => null,
  commands: {
    'ephemeral-configure': { plan: ({ draft }, command) => planEphemeral(draft, command) },
    'ephemeral-delete': { plan: ({ draft }, command) => planEphemeral(draft, command) },
  },
  purge: [{ number: 4, step: purgeEphemeral }],
});

/** Here the cluster is a primary, or was promoted: a standby has no planner. */
const standby = feature({
  lead: () => null,
  commands: {
    promote: {
      plan: ({ draft }) => ({ kind: 'promoted', wasStandby: standbyRoleOf(draft.state) !== null }),
    },
  },
});

const relocation = feature({ at: 'last', lead: ({ relocations }) => relocations });

export const FEATURES: readonly AnyFeature[] = [
  clusterVersion,
  groups,
  tenants,
  timers,
  queues,
  traces,
  deadLetters,
  retention,
  cleanup,
  kv,
  streams,
  relocation,
  ephemeral,
  standby,
];
