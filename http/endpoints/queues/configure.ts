/**
 * POST /api/v1/configure (message-plane 7). The options stand under `options`, or, without it,
 * beside `queue`. The answer shows the whole effective set.
 */
import type { ConfigureCommand, ConfiguredOutcome } from '@svc/engine';
import {
  type AnySchema,
  anything,
  constant,
  describedAs,
  either,
  type Infer,
  integerBetween,
  matching,
  named,
  nothing,
  nullable,
  type Optional,
  object,
  oneOf,
  optional,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { DEFAULT_PARTITION, INT32_MAX, INT32_MIN } from '@svc/wire';
import { badRequestFault } from '../../exchange/errors.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { partOf, shown } from '../../json/shown.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import { sendShown } from '../../routing/reply.js';
import { outcomeRender, submit } from '../../routing/submit.js';
import {
  OPTION_KINDS,
  type OptionKind,
  optionChanges,
  optionsAnswer,
  SINK_HOLD,
  SINK_HOLD_SECONDS_MAX,
  SINK_HOLD_SECONDS_MIN,
  stringOf,
} from './queue-options.js';

const int32 = integerBetween(INT32_MIN, INT32_MAX);

/** How a request may spell each kind of option; null restores the default. */
const OPTION_SCHEMAS = {
  label: describedAs('A string; anything else is read as "".', anything),
  integer: nullable(int32),
  boolean: nullable(truth),
  'sink-hold': nullable(matching(SINK_HOLD)),
  'sink-hold-max': nullable(integerBetween(SINK_HOLD_SECONDS_MIN, SINK_HOLD_SECONDS_MAX)),
} satisfies { readonly [kind in OptionKind]: AnySchema };

type OptionFields = {
  readonly [Name in keyof typeof OPTION_KINDS]: Optional<
    Infer<(typeof OPTION_SCHEMAS)[(typeof OPTION_KINDS)[Name]]>
  >;
};

const OPTION_FIELDS = Object.fromEntries(
  Object.entries(OPTION_KINDS).map(([name, kind]) => [
    name,
    optional(OPTION_SCHEMAS[kind] as AnySchema),
  ]),
) as OptionFields;

const queueOptions = named('QueueOptions', object(OPTION_FIELDS));

/** Options stand beside `queue` where there is no `options`; with it, those names are ignored. */
const configureBody = either(
  object({
    queue: text,
    mode: optional(nullable(oneOf('merge', 'replace'))),
    options: queueOptions,
  }),
  object({
    queue: text,
    mode: optional(nullable(oneOf('merge', 'replace'))),
    options: optional(nothing),
    ...OPTION_FIELDS,
  }),
);

const configureAnswer = shown<ConfiguredOutcome>()({
  configured: constant(true),
  queueId: uuid,
  partitionId: nothing,
  queue: text,
  namespace: [text, ({ options }) => options.namespace],
  task: [text, ({ options }) => options.task],
  storage: constant('segments'),
  options: partOf(optionsAnswer, ({ options }) => options),
});

export const configureEndpoint = endpoint({
  at: 'POST /api/v1/configure',
  level: 'read-write',
  gateway: 'queue-admin',
  tag: 'queues',
  summary: 'Create a queue, or change options of one.',
  request: {
    share: 'growing',
    reader: 'Options stand beside `queue` or below `options`, and a fault tells their names.',
    read: readConfigureBody,
    schema: configureBody,
    example: { queue: 'orders', options: { leaseTime: 60, retryLimit: 3 } },
  },
  answers: {
    200: answer('The queue with its whole effective set of options.', configureAnswer),
    507: STORAGE_FULL,
  },
  names: ({ body: { queue, changes } }) => {
    const { namespace = null, task = null } = changes;
    return { queue, partition: DEFAULT_PARTITION, namespace, task };
  },
  handle: (front, { exchange, tenant, body }) =>
    submit(front, exchange, { kind: 'configure', tenant, ...body }, renderer),
});

const renderer = outcomeRender('configured', (exchange, _: ConfigureCommand, outcome) =>
  sendShown(exchange, '200 OK', configureAnswer, outcome),
);

const OPTION_NAMES = Object.keys(OPTION_KINDS);
const OPTION_KEYS = keySet(...OPTION_NAMES);
const BODY_KEYS = keySet(...OPTION_NAMES, 'queue', 'mode', 'options');
const QUEUE = OPTION_NAMES.length;
const MODE = QUEUE + 1;
const OPTIONS = QUEUE + 2;
/** Characters of a wrong mode that the answer repeats. */
const SHOWN_CHARS_MAX = 64;

type ConfigureBody = Omit<ConfigureCommand, 'kind' | 'tenant'>;

/**
 * Throws `JsonError` when the body is not an object, or `options` is something else than one, and
 * `RequestFault` for values that cannot be.
 */
export function readConfigureBody(body: Buffer): ConfigureBody {
  const reader = new JsonReader(body);
  const beside = new Map<string, string>();
  let options: Map<string, string> | null = null;
  let queueText = 'null';
  let mode = 'null';
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === OPTIONS && !reader.isNull()) {
      options = readOptions(reader);
      continue;
    }
    reader.skipValue();
    if (key === QUEUE) queueText = reader.valueText();
    else if (key === MODE) mode = reader.valueText();
    else if (key >= 0 && key < QUEUE) beside.set(OPTION_NAMES[key] as string, reader.valueText());
  }
  reader.finish();
  const queue = stringOf(queueText);
  if (queue === null) throw badRequestFault('queue is required');
  if (queue.includes('\0')) throw badRequestFault('queue holds a NUL character');
  const replace = mode === '"replace"';
  if (!replace && mode !== '"merge"' && mode !== 'null') {
    const shown = mode.length > SHOWN_CHARS_MAX ? `${mode.slice(0, SHOWN_CHARS_MAX)}...` : mode;
    throw badRequestFault(`mode must be "merge" or "replace", got ${shown}`);
  }
  const changes = optionChanges(options === null ? beside : withLabels(options, beside));
  return { queue, replace, changes };
}

/** Known option names to the JSON text of their values. */
function readOptions(reader: JsonReader): Map<string, string> {
  const options = new Map<string, string>();
  let seen = 0;
  reader.enterObject('options');
  for (;;) {
    const key = reader.nextKey(OPTION_KEYS, seen);
    if (key === KEYS_END) return options;
    reader.skipValue();
    if (key === KEY_UNKNOWN) continue;
    seen |= 1 << key;
    options.set(OPTION_NAMES[key] as string, reader.valueText());
  }
}

/** Labels beside `options` count where they are not empty and `options` does not name them. */
function withLabels(
  options: Map<string, string>,
  beside: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  for (const name of ['namespace', 'task']) {
    const text = beside.get(name);
    if (text === undefined || options.has(name)) continue;
    const label = stringOf(text);
    if (label !== null && label !== '') options.set(name, text);
  }
  return options;
}
