/**
 * The options of a queue: what each means, what is typed into its field, and what a change of it
 * does. Only what differs is sent; an empty field is `null`, which restores the default.
 */

import { formatDuration } from './format.js';

export type OptionValue = string | number | boolean;
export type OptionValues = Readonly<Record<string, OptionValue>>;

export interface QueueOption {
  readonly name: string;
  readonly label: string;
  /** Behind a number: "s"; "" for all else. */
  readonly unit: string;
  /** What the broker takes where nothing is configured. Its type is that of the option. */
  readonly standard: OptionValue;
  readonly min?: number;
  readonly max?: number;
  /** What it does, with this value. */
  readonly effect: (value: OptionValue) => string;
}

export interface OptionGroup {
  readonly title: string;
  readonly options: readonly QueueOption[];
}

const INT32_MAX = 2_147_483_647;
const isOff = (value: OptionValue) => value === 0 || value === '' || value === false;

/** An option that is off at 0. */
const number = (
  name: string,
  label: string,
  unit: string,
  standard: number,
  [off, on]: readonly [off: string, on: string],
  bounds: Pick<QueueOption, 'min' | 'max'> = {},
): QueueOption => ({
  name,
  label,
  unit,
  standard,
  ...bounds,
  effect: (value) => (isOff(value) ? off : on.replace('#', withUnit(value, unit))),
});

const toggle = (name: string, label: string, standard: boolean, off: string, on: string) => ({
  name,
  label,
  unit: '',
  standard,
  effect: (value: OptionValue) => (value === true ? on : off),
});

const label = (name: string, title: string) => ({
  name,
  label: title,
  unit: '',
  standard: '',
  effect: () => 'Pops and lists by label find it under this one from now on.',
});

export const OPTION_GROUPS: readonly OptionGroup[] = [
  {
    title: 'Delivery',
    options: [
      number('leaseTime', 'Lease', 's', 300, [
        'New leases end at once.',
        'New leases last # where the pop names none; those that are live stay as they are.',
      ]),
      number('delayedProcessing', 'Delay', 's', 0, [
        'Messages are delivered as soon as they are stored.',
        'A message is delivered when it is # old.',
      ]),
      number('windowBuffer', 'Quiet time', 's', 0, [
        'A partition is delivered while it is written to.',
        'A partition is delivered when its newest message is # old.',
      ]),
      number(
        'minPopWaitTime',
        'Gathering',
        'ms',
        0,
        [
          'A pop is answered as soon as there is a message.',
          'A pop that waits gathers for # before it is answered with fewer than it asked for.',
        ],
        { max: 60_000 },
      ),
    ],
  },
  {
    title: 'Failures',
    options: [
      number('retryLimit', 'Retries', '', 3, [
        'The first failure makes a message a dead letter.',
        'A message that failed # times becomes a dead letter with its next failure.',
      ]),
      number('retryBackoffMs', 'First wait', 'ms', 0, [
        'A message that is given back comes again at once.',
        'A message that is given back comes again after #, then after twice that, and so on.',
      ]),
      number(
        'retryBackoffMaxMs',
        'Longest wait',
        'ms',
        3_600_000,
        ['', 'No such wait is longer than #.'],
        { min: 1 },
      ),
      number('deliveryLimit', 'Deliveries', '', 0, [
        'A message is delivered as often as it takes.',
        'A message that was delivered # times without being completed becomes a dead letter.',
      ]),
      toggle(
        'deadLetterQueue',
        'Dead letters',
        true,
        'What fails for the last time is dropped, unless the next option keeps it.',
        'What fails for the last time is kept as a dead letter.',
      ),
      toggle(
        'dlqAfterMaxRetries',
        'Dead letters after retries',
        true,
        'What fails for the last time is dropped, unless the option before keeps it.',
        'What fails for the last time is kept as a dead letter.',
      ),
    ],
  },
  {
    title: 'Retention',
    options: [
      toggle(
        'retentionEnabled',
        'Retention',
        false,
        'The next two have no effect: messages stay.',
        'The next two remove messages, from within seconds on.',
      ),
      number('retentionSeconds', 'Kept for', 's', 0, [
        'Age alone removes nothing.',
        'Removes messages older than #, read or not, where retention is on.',
      ]),
      number('completedRetentionSeconds', 'Kept after reading', 's', 0, [
        'What was read stays.',
        'Removes messages older than # that every group has read, where retention is on.',
      ]),
      number('maxWaitTimeSeconds', 'Evicted after', 's', 0, [
        'Nothing is evicted.',
        'Removes messages older than #, leased ones among them, also where retention is off.',
      ]),
    ],
  },
  {
    title: 'Storing',
    options: [
      number('dedupWindowSeconds', 'Repeats known for', 's', 3600, [
        'Only items of one push are compared by their transaction ids.',
        'A transaction id is known for #: a repeated push stores nothing.',
      ]),
      toggle(
        'encryptionEnabled',
        'Encryption',
        false,
        'New payloads are stored as they come; those that are encrypted stay so.',
        'New payloads are stored encrypted; those that are stored stay as they are.',
      ),
      label('namespace', 'Namespace'),
      label('task', 'Task'),
    ],
  },
];

const ALL = OPTION_GROUPS.flatMap(({ options }) => options);

/** Kept and shown for clients that set them; they have no effect. */
export const IDLE_OPTIONS = [
  'priority',
  'retryDelay',
  'maxSize',
  'ttl',
  'retentionSinkHold',
  'retentionSinkHoldMaxSeconds',
] as const;

/** Those that are not shown are at their defaults. */
export function currentValues(shown: Readonly<Record<string, unknown>>): OptionValues {
  return Object.fromEntries(
    ALL.map(({ name, standard }) => [name, (shown[name] ?? standard) as OptionValue]),
  );
}

/** What stands in the fields, by the names of the options. */
export type Typed = Readonly<Record<string, string | boolean>>;

export function typedOf(values: OptionValues): Typed {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'boolean' ? value : String(value),
    ]),
  );
}

/** Why it cannot be sent; null: it can. */
export function faultOf(
  { standard, min = 0, max = INT32_MAX }: QueueOption,
  typed: string | boolean,
) {
  if (typeof standard !== 'number' || typeof typed !== 'string' || typed.trim() === '') return null;
  const value = Number(typed);
  if (/^\d+$/.test(typed.trim()) && value >= min && value <= max) return null;
  return `A whole number from ${min} to ${max}; empty for ${standard}.`;
}

export interface OptionChange {
  readonly option: QueueOption;
  readonly from: OptionValue;
  readonly to: OptionValue;
  /** As it is sent. */
  readonly sent: OptionValue | null;
}

/** What differs, in the order of the form. */
export function changesOf(current: OptionValues, typed: Typed): OptionChange[] {
  return ALL.flatMap((option) => {
    const from = current[option.name] ?? option.standard;
    const sent = sentOf(option, typed[option.name] ?? '');
    const to = sent ?? option.standard;
    return to === from ? [] : [{ option, from, to, sent }];
  });
}

function sentOf({ standard }: QueueOption, typed: string | boolean): OptionValue | null {
  if (typeof standard !== 'number' || typeof typed !== 'string') return typed;
  return typed.trim() === '' ? null : Number(typed);
}

/** "30 s", "on", "(empty)". */
export function shownValue({ unit }: QueueOption, value: OptionValue): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return value === '' ? '(empty)' : withUnit(value, unit);
}

/** "86,400 s (1 d)": the number as it is typed, and as people say it. */
function withUnit(value: OptionValue, unit: string): string {
  if (typeof value !== 'number') return String(value);
  const text = `${value.toLocaleString('en-US')} ${unit}`.trim();
  const seconds = unit === 'ms' ? value / 1000 : unit === 's' ? value : 0;
  return seconds > 60 ? `${text} (${formatDuration(seconds)})` : text;
}
