/** Streams as tests write them: short tuples, the rest filled in. */
import { assert } from '../base/assert.js';
import type { PushCommand } from '../base/commands/commands.js';
import type {
  RegisterStreamCommand,
  StreamAck,
  StreamCycleCommand,
  StreamCycledOutcome,
  StreamRegisteredOutcome,
} from '../base/commands/streams.js';
import type { State } from '../base/state.js';
import { utf8Read } from '../base/utf8.js';
import {
  readStreamState,
  type StreamReadRoom,
  type StreamStateAnswer,
  type StreamStateBounds,
  type StreamStateEntry,
  type StreamStateFilter,
} from '../streams/state.js';
import { type EngineRig, TENANT, utf8 } from './engine.fake.js';
import { walked } from './page.fake.js';
import type { PushWord } from './transaction.fake.js';

/** A key and the JSON text of its value; null deletes. */
export type StateWord = readonly [key: string, value: string | null];

export interface CycleParts {
  readonly tenant?: string;
  readonly queryId: string;
  readonly partitionId: number | string;
  readonly group?: string;
  readonly state?: readonly StateWord[];
  readonly pushes?: readonly PushWord[];
  readonly ack?: Partial<StreamAck> | null;
  readonly releaseLease?: boolean;
}

/** Payloads are the places of their items. */
export function cycleCommand(parts: CycleParts): StreamCycleCommand {
  const { tenant = TENANT, state = [], pushes = [], ack = null } = parts;
  let text = '';
  const place = (json: string) => {
    const start = utf8(text).length;
    text += json;
    return [start, start + utf8(json).length] as const;
  };
  const places = state.map(([, value]) => (value === null ? ([0, 0] as const) : place(value)));
  const payloads = pushes.map((_, i) => place(String(i)));
  const body = utf8(text);
  return {
    kind: 'stream-cycle',
    tenant,
    queryId: parts.queryId,
    partitionId: String(parts.partitionId),
    consumerGroup: parts.group ?? 'g',
    body,
    state: {
      keys: state.map(([key]) => key),
      valueStart: places.map(([start]) => start),
      valueEnd: places.map(([, end]) => end),
      isDelete: state.map(([, value]) => value === null),
      windowEnds: state.map(([, value]) => windowEndOf(value)),
    },
    pushes: pushes.length === 0 ? null : pushesOf(tenant, pushes, payloads, body),
    ack: ack === null ? null : { leaseId: '', completed: true, count: 0, ...ack },
    releaseLease: parts.releaseLease ?? true,
  };
}

function windowEndOf(value: string | null): number | null {
  const parsed = JSON.parse(value ?? 'null') as { readonly windowEnd?: unknown } | null;
  const end = parsed?.windowEnd;
  return typeof end === 'number' && Number.isSafeInteger(end) ? end : null;
}

function pushesOf(
  tenant: string,
  words: readonly PushWord[],
  payloads: readonly (readonly [number, number])[],
  body: Uint8Array,
): PushCommand {
  const groups = words.map(([queue, partition]) => ({ queue, partition }));
  return {
    kind: 'push',
    tenant,
    producerSub: null,
    body,
    groups,
    itemGroup: words.map(([queue, partition]) =>
      groups.findIndex((one) => one.queue === queue && one.partition === partition),
    ),
    transactionIds: words.map(([, , id]) => id),
    payloadStart: payloads.map(([start]) => start),
    payloadEnd: payloads.map(([, end]) => end),
  };
}

export function registerCommand(rest: Partial<RegisterStreamCommand> = {}): RegisterStreamCommand {
  return {
    kind: 'register-stream',
    tenant: TENANT,
    name: 'per-minute',
    sourceQueue: 'q',
    sinkQueue: 'out',
    configHash: 'h1',
    reset: false,
    ...rest,
  };
}

export function register(
  rig: EngineRig,
  rest: Partial<RegisterStreamCommand> = {},
): StreamRegisteredOutcome['verdict'] {
  const { outcome } = rig.call(registerCommand(rest));
  assert(outcome?.kind === 'stream-registered', `answered by ${outcome?.kind}`);
  return outcome.verdict;
}

/** The id of a query that may be registered. */
export function queryOf(rig: EngineRig, rest: Partial<RegisterStreamCommand> = {}): string {
  const verdict = register(rig, rest);
  assert(verdict.result === 'registered', `the query is ${verdict.result}`);
  return verdict.queryId;
}

export function cycle(rig: EngineRig, parts: CycleParts): StreamCycledOutcome['verdict'] {
  const { outcome } = rig.call(cycleCommand(parts));
  assert(outcome?.kind === 'stream-cycled', `answered by ${outcome?.kind}`);
  return outcome.verdict;
}

/** As they are. */
export function readRows(
  state: State,
  filter: StreamStateFilter,
  room = roomOf(),
  bounds?: StreamStateBounds,
): Generator<void, StreamStateAnswer<readonly StreamStateEntry[]>> {
  return readStreamState(state, filter, (rows) => rows, room, bounds);
}

export function roomOf(bytesLeft = Number.MAX_SAFE_INTEGER): StreamReadRoom {
  return { bytesLeft };
}

export function filterOf(
  queryId: string,
  partitionId: number | string,
  rest: Partial<StreamStateFilter> = {},
): StreamStateFilter {
  const all = { keys: null, keyPrefix: '', ripeAtOrBefore: null };
  return { tenant: TENANT, queryId, partitionId: String(partitionId), ...all, ...rest };
}

/** Key and value of each row, or what was answered instead. */
export function stateOf(
  rig: EngineRig,
  filter: StreamStateFilter,
): [string, string][] | StreamStateAnswer<unknown>['result'] {
  const answer = walked(readRows(rig.planner.state, filter));
  if (answer.result !== 'rows') return answer.result;
  return answer.pieces.flat().map(({ key, value }) => [key, utf8Read(value, 0, value.length)]);
}
