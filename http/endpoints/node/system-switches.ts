/**
 * The runtime switches (state-surfaces 5.1), which belong to the whole cluster:
 *
 *     GET, POST /api/v1/system/kv-timers
 *     GET, POST /api/v1/system/ephemeral
 *
 * A POST is answered once this node has applied it; the others apply it from the same log.
 */

import type { SetSwitchesCommand, SwitchChanges, Switches, SwitchesSetOutcome } from '@svc/engine';
import {
  constant,
  count,
  describedAs,
  either,
  named,
  nullable,
  optional,
  truth,
} from '@svc/schema';
import { DEFAULT_TENANT, errorAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { QuotaFigures } from '../../gate/gate.js';
import { bodyForm, describedBy, type Member } from '../../json/body-form.js';
import { JsonReader } from '../../json/json-reader.js';
import { shown, textOf } from '../../json/shown.js';
import type { SwitchesView } from '../../ports/surface-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { sendAnswer, viewReply } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { outcomeRender, submit } from '../../routing/submit.js';

const OPEN_BRACE = 0x7b;

/** state-surfaces 5.1; what the gate of this node has measured stands beside the switches. */
const kvTimersAnswer = named(
  'KvTimers',
  shown<Switches, QuotaFigures>()({
    kvEnabled: [truth, ({ kv }) => kv],
    timersScheduleEnabled: [truth, ({ timersSchedule }) => timersSchedule],
    timersFireEnabled: [truth, ({ timersFire }) => timersFire],
    quotaTenants: [
      describedAs('The number of tenants with an allowance that this node has measured.', count),
      (_, { tenants }) => tenants,
    ],
    quotaAgeMs: [
      describedAs('Milliseconds since the latest of these measurements.', nullable(count)),
      (_, { ageMs }) => ageMs,
    ],
    quotaHot: [
      describedAs('The number of these tenants that are near an end of their allowance.', count),
      (_, { hot }) => hot,
    ],
  }),
);

const ephemeralSwitchAnswer = shown<Switches>()({
  ephemeralEnabled: [truth, ({ ephemeral }) => ephemeral],
});

const ephemeralSwitchedAnswer = shown<Switches>()({
  ephemeralEnabled: [truth, ({ ephemeral }) => ephemeral],
  mirrored: constant(true),
});

/** null: it is no boolean. */
const flag: Member<boolean | null | undefined> = {
  field: optional(truth),
  read: (reader) => {
    reader.skipValue();
    const value = reader.valueText();
    return value === 'true' ? true : value === 'false' ? false : null;
  },
  absent: { value: undefined },
};
const switchesForm = bodyForm({ kv: flag, timersSchedule: flag, timersFire: flag });
const ephemeralForm = bodyForm({ enabled: describedBy(truth, flag) });

/** Why bodies are read by hand. */
const NOT_AN_OBJECT = 'What is no object is refused in words of its own.';

export const switchesEndpoint = endpoint({
  at: 'GET /api/v1/system/kv-timers',
  level: 'admin',
  gateway: 'blocked',
  tag: 'operations',
  summary: 'Whether key/value and timers are switched on.',
  answers: { 200: answer('As they are on the whole cluster.', kvTimersAnswer) },
  scoped: false,
  handle: (front, { exchange }) =>
    read(front, exchange, (switches) =>
      textOf(kvTimersAnswer, switches, front.gate.quotaFigures()),
    ),
});

export const setSwitchesEndpoint = endpoint({
  at: 'POST /api/v1/system/kv-timers',
  level: 'admin',
  gateway: 'blocked',
  tag: 'operations',
  summary: 'Switches key/value, scheduling and firing of timers on or off.',
  request: {
    share: 'drain',
    reader: NOT_AN_OBJECT,
    schema: either(
      switchesForm.variant({ kv: truth }),
      switchesForm.variant({ timersSchedule: truth }),
      switchesForm.variant({ timersFire: truth }),
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
  gateway: 'blocked',
  tag: 'operations',
  summary: 'Whether ephemeral queues are switched on.',
  answers: {
    200: answer('On the whole cluster.', ephemeralSwitchAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) =>
    read(front, exchange, (switches) => textOf(ephemeralSwitchAnswer, switches)),
});

export const setEphemeralSwitchEndpoint = endpoint({
  at: 'POST /api/v1/system/ephemeral',
  level: 'admin',
  gateway: 'blocked',
  tag: 'operations',
  summary: 'Switches ephemeral queues on or off.',
  request: { share: 'drain', reader: NOT_AN_OBJECT, schema: ephemeralForm.schema },
  answers: {
    200: answer('From now on.', ephemeralSwitchedAnswer),
    400: refusal('`enabled` is missing or no boolean.'),
  },
  scoped: false,
  handle: setEphemeralSwitch,
});

function setSwitches(front: Front, { exchange, body }: Call<unknown>): void {
  if (!isObject(body)) {
    refuse(exchange, 'object required');
    return;
  }
  // In the order of the body, of which the first wrong one is told.
  const named = Object.entries(switchesForm.read(body)).filter(([, value]) => value !== undefined);
  const wrong = named.find(([, value]) => value === null);
  if (wrong !== undefined) refuse(exchange, `${wrong[0]} must be a boolean`);
  else if (named.length === 0) {
    refuse(exchange, 'at least one of kv, timersSchedule, timersFire (boolean) is required');
  } else {
    set(front, exchange, Object.fromEntries(named) as SwitchChanges, (switches) =>
      textOf(kvTimersAnswer, switches, front.gate.quotaFigures()),
    );
  }
}

function setEphemeralSwitch(front: Front, { exchange, body }: Call<unknown>): void {
  const ephemeral = isObject(body) ? (ephemeralForm.read(body).enabled ?? null) : null;
  if (ephemeral === null) {
    refuse(exchange, 'enabled (boolean) is required');
    return;
  }
  set(front, exchange, { ephemeral }, (switches) => textOf(ephemeralSwitchedAnswer, switches));
}

/** Throws `JsonError` for what is no JSON. */
function isObject(body: Buffer): boolean {
  if (body.length === 0) return false;
  const reader = new JsonReader(body);
  if (reader.peek() === OPEN_BRACE) return true;
  reader.skipValue();
  reader.finish();
  return false;
}

function refuse(exchange: Exchange, error: string): void {
  sendAnswer(exchange, '400 Bad Request', errorAnswer, { error });
}

/** The text of the answer. */
type TextOf = (switches: Switches) => string;

function read(front: Front, exchange: Exchange, text: TextOf): void {
  const render = (to: Exchange, _: null, { switches }: SwitchesView) =>
    to.json('200 OK', text(switches));
  front.service.surfaces.readSwitches(viewReply(exchange, null, render));
}

function set(front: Front, exchange: Exchange, changes: SwitchChanges, text: TextOf): void {
  const command: SetSwitchesCommand = { kind: 'set-switches', tenant: DEFAULT_TENANT, changes };
  const render = (to: Exchange, _: SetSwitchesCommand, { switches }: SwitchesSetOutcome) =>
    to.json('200 OK', text(switches));
  submit(front, exchange, command, outcomeRender('switches-set', render));
}
