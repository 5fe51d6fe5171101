/**
 * The runtime switches (state-surfaces 5.1), which belong to the whole cluster:
 *
 *     GET, POST /api/v1/system/kv-timers
 *     GET, POST /api/v1/system/ephemeral
 *
 * A POST is answered once this node has applied it; the others apply it from the same log.
 */
import type {
  RefusedOutcome,
  SetSwitchesCommand,
  SwitchChanges,
  Switches,
  SwitchesSetOutcome,
} from '@svc/engine';
import { either, optional, truth } from '@svc/schema';
import {
  DEFAULT_TENANT,
  type EphemeralSwitchAnswer,
  type EphemeralSwitchedAnswer,
  ephemeralSwitchAnswer,
  ephemeralSwitchedAnswer,
  type KvTimersAnswer,
  kvTimersAnswer,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { Gate } from '../../gate/gate.js';
import { body } from '../../json/body.js';
import { type KeySet, keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import type { SwitchesView } from '../../ports/surface-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { PendingReply } from '../../routing/reply.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { submit } from '../../routing/submit.js';

export const SWITCH_BODY_KEYS = keySet('kv', 'timersSchedule', 'timersFire');
export const EPHEMERAL_SWITCH_BODY_KEYS = keySet('enabled');

const OPEN_BRACE = 0x7b;

const [some, any] = [truth, optional(truth)];

export const switchesEndpoint = endpoint({
  at: 'GET /api/v1/system/kv-timers',
  level: 'admin',
  tag: 'operations',
  summary: 'Whether key/value and timers are switched on.',
  answers: { 200: answer('As they are on the whole cluster.', kvTimersAnswer) },
  scoped: false,
  handle: (front, { exchange }) =>
    read(front, exchange, (switches) => kvTimersShown(front.gate, switches)),
});

export const setSwitchesEndpoint = endpoint({
  at: 'POST /api/v1/system/kv-timers',
  level: 'admin',
  tag: 'operations',
  summary: 'Switches key/value, scheduling and firing of timers on or off.',
  request: {
    share: 'drain',
    schema: either(
      body(SWITCH_BODY_KEYS, { kv: some, timersSchedule: any, timersFire: any }),
      body(SWITCH_BODY_KEYS, { kv: any, timersSchedule: some, timersFire: any }),
      body(SWITCH_BODY_KEYS, { kv: any, timersSchedule: any, timersFire: some }),
    ),
  },
  answers: {
    200: answer('As they are from now on.', kvTimersAnswer),
    400: refusal('None is named, or one is no boolean.'),
  },
  scoped: false,
  handle: setSwitches,
});

export const ephemeralSwitchEndpoint = endpoint({
  at: 'GET /api/v1/system/ephemeral',
  level: 'admin',
  tag: 'operations',
  summary: 'Whether ephemeral queues are switched on.',
  answers: {
    200: answer('On the whole cluster.', ephemeralSwitchAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) =>
    read(
      front,
      exchange,
      ({ ephemeral }): EphemeralSwitchAnswer => ({
        ephemeralEnabled: ephemeral,
      }),
    ),
});

export const setEphemeralSwitchEndpoint = endpoint({
  at: 'POST /api/v1/system/ephemeral',
  level: 'admin',
  tag: 'operations',
  summary: 'Switches ephemeral queues on or off.',
  request: { share: 'drain', schema: body(EPHEMERAL_SWITCH_BODY_KEYS, { enabled: truth }) },
  answers: {
    200: answer('From now on.', ephemeralSwitchedAnswer),
    400: refusal('`enabled` is missing or no boolean.'),
  },
  scoped: false,
  handle: setEphemeralSwitch,
});

function setSwitches(front: Front, { exchange, body }: RouteRequest): void {
  const found = readBooleans(body, SWITCH_BODY_KEYS);
  if (found === null) {
    refuse(exchange, 'object required');
    return;
  }
  const wrong = [...found].find(([, value]) => value === null);
  if (wrong !== undefined) refuse(exchange, `${wrong[0]} must be a boolean`);
  else if (found.size === 0) {
    refuse(exchange, 'at least one of kv, timersSchedule, timersFire (boolean) is required');
  } else {
    set(front, exchange, Object.fromEntries(found) as SwitchChanges, (switches) =>
      kvTimersShown(front.gate, switches),
    );
  }
}

function setEphemeralSwitch(front: Front, { exchange, body }: RouteRequest): void {
  const ephemeral = readBooleans(body, EPHEMERAL_SWITCH_BODY_KEYS)?.get('enabled') ?? null;
  if (ephemeral === null) {
    refuse(exchange, 'enabled (boolean) is required');
    return;
  }
  set(
    front,
    exchange,
    { ephemeral },
    (switches): EphemeralSwitchedAnswer => ({
      ephemeralEnabled: switches.ephemeral,
      mirrored: true,
    }),
  );
}

/** The known members, null for what is no boolean. null: the body is no object. */
function readBooleans(body: Buffer, keys: KeySet): Map<string, boolean | null> | null {
  if (body.length === 0) return null;
  const reader = new JsonReader(body);
  if (reader.peek() !== OPEN_BRACE) {
    reader.skipValue();
    reader.finish();
    return null;
  }
  const found = new Map<string, boolean | null>();
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(keys, seen);
    if (key === KEYS_END) break;
    reader.skipValue();
    if (key === KEY_UNKNOWN) continue;
    seen |= 1 << key;
    const text = reader.valueText();
    const value = text === 'true' ? true : text === 'false' ? false : null;
    found.set(keys.names[key] ?? '', value);
  }
  reader.finish();
  return found;
}

function refuse(exchange: Exchange, error: string): void {
  exchange.json('400 Bad Request', JSON.stringify({ error }));
}

type AnswerOf = (switches: Switches) => object;

function read(front: Front, exchange: Exchange, answerOf: AnswerOf): void {
  const reply = new PendingReply<AnswerOf, SwitchesView | RefusedOutcome>(
    exchange,
    front.logger,
    answerOf,
    (to, render, outcome) => {
      if (outcome.kind === 'refused') to.refuse(outcome.refusal);
      else to.json('200 OK', JSON.stringify(render(outcome.switches)));
    },
  );
  front.service.surfaces.readSwitches(reply);
}

function set(front: Front, exchange: Exchange, changes: SwitchChanges, answerOf: AnswerOf): void {
  const command: SetSwitchesCommand = { kind: 'set-switches', tenant: DEFAULT_TENANT, changes };
  submit(front, exchange, command, {
    kind: 'switches-set',
    render: (to: Exchange, _: SetSwitchesCommand, { switches }: SwitchesSetOutcome) =>
      to.json('200 OK', JSON.stringify(answerOf(switches))),
  });
}

function kvTimersShown(gate: Gate, switches: Switches): KvTimersAnswer {
  const { tenants, ageMs, hot } = gate.quotaFigures();
  return {
    kvEnabled: switches.kv,
    timersScheduleEnabled: switches.timersSchedule,
    timersFireEnabled: switches.timersFire,
    quotaTenants: tenants,
    quotaAgeMs: ageMs,
    quotaHot: hot,
  };
}
