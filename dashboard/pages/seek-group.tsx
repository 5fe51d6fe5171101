/** Moves a group within a queue, or over one partition; says first what its workers will get. */
import { useState } from 'preact/hooks';
import { type SeekEffect, type SeekPlace, seekEffect } from '../base/consumer-groups.js';
import { counted, formatInteger } from '../base/format.js';
import { formatMoment, localInputOf } from '../base/moment.js';
import { ConfirmByName, Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { Field, TextInput } from '../components/form.js';
import { tell } from '../components/results.js';
import { Loaded } from '../components/states.js';
import { Tabs } from '../components/tabs.js';
import { Name } from '../components/text.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';
import { GroupName } from './group-texts.js';

type Target = 'beginning' | 'time' | 'end';

const TARGETS = [
  { value: 'beginning', label: 'To the beginning' },
  { value: 'time', label: 'To a time' },
  { value: 'end', label: 'To the end' },
] as const;

/** Before every message. */
const EPOCH = new Date(0).toISOString();
const HOUR_MS = 3_600_000;

interface SeekQueueProps {
  readonly group: string;
  readonly queue: string;
  /** Partitions that are leased now. */
  readonly leased: number;
  readonly onClose: () => void;
  readonly onMoved: () => void;
}

export function SeekQueue({ group, queue, leased, onClose, onMoved }: SeekQueueProps) {
  const [target, setTarget] = useState<Target>('time');
  const [typed, setTyped] = useState(() => localInputOf(Date.now() - HOUR_MS));
  const timeMs = Date.parse(typed);
  const error = target === 'time' && !Number.isFinite(timeMs) ? 'This is no time.' : null;
  const seek = useAction(async () => {
    const timestamp = target === 'time' ? new Date(timeMs).toISOString() : EPOCH;
    const body = target === 'end' ? { toEnd: true } : { timestamp };
    const at = 'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek';
    const { partitionsUpdated } = await call(at, { params: { group, queue }, body });
    tell(
      <>
        Moved <GroupName group={group} /> at <Name text={queue} />:{' '}
        {counted(partitionsUpdated, 'partition', 'partitions')}
      </>,
    );
    onMoved();
    onClose();
  });
  return (
    <Dialog title="Seek" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (error === null) void seek.run();
        }}
      >
        <p>
          <GroupName group={group} /> <span class="quiet">at</span> <Name text={queue} />
        </p>
        <Tabs
          label="Where to"
          value={target}
          choices={TARGETS}
          onChoose={(chosen) => setTarget(chosen as Target)}
        />
        {target === 'time' && (
          <Field label="It reads on with the first message at or after" error={error}>
            {(id) => (
              <TextInput
                id={id}
                type="datetime-local"
                value={typed}
                onInput={setTyped}
                isWrong={error !== null}
              />
            )}
          </Field>
        )}
        <div role="status">
          {error === null && (
            <Effect group={group} queue={queue} target={target} timeMs={timeMs} leased={leased} />
          )}
        </div>
        <Refusal error={seek.error} />
        <FormFoot
          label="Seek"
          onClose={onClose}
          isBusy={seek.isBusy}
          isForbidden={error !== null}
          isDangerous
        />
      </form>
    </Dialog>
  );
}

interface EffectProps {
  readonly group: string;
  readonly queue: string;
  readonly target: Target;
  readonly timeMs: number;
  readonly leased: number;
}

function Effect({ group, queue, target, timeMs, leased }: EffectProps) {
  const key = `seek ${group}\n${queue}\n${target}\n${target === 'time' ? timeMs : ''}`;
  const poll = usePoll(
    key,
    async (signal): Promise<SeekEffect | null> => {
      if (target === 'time') return effectOfTime(group, queue, timeMs, signal);
      const { pending } = await call('GET /api/v1/resources/queues/{queue}/depth', {
        params: { queue },
        query: { group, limit: 1 },
        signal,
      });
      if (target === 'end') return { again: 0, skipped: pending };
      const { totals } = await call('GET /api/v1/resources/queues/{queue}', {
        params: { queue },
        query: { limit: 1 },
        signal,
      });
      return { again: Math.max(totals.total - pending, 0), skipped: 0 };
    },
    EVERY_MS_SLOW,
  );
  return (
    <Loaded poll={poll} what="what this will do">
      {(effect) => (
        <div class="told-first">
          <p>{effect === null ? UNCOUNTED : wordsOf(effect)}</p>
          <p class="quiet">
            Every partition of the queue is moved, also those that the group has not read.
            {leased > 0 &&
              ` ${counted(leased, 'partition is', 'partitions are')} leased: these leases end, ` +
                'and acknowledgements of what was delivered are refused.'}
          </p>
        </div>
      )}
    </Loaded>
  );
}

const UNCOUNTED =
  'The queue has too many partitions to count what this delivers again or skips before it is done.';

function wordsOf({ again, skipped }: SeekEffect): string {
  const words = [
    ...(again > 0 ? [`${counted(again, 'message is', 'messages are')} delivered again.`] : []),
    ...(skipped > 0
      ? [`${counted(skipped, 'message is', 'messages are')} skipped: the group never gets them.`]
      : []),
  ];
  return words.length === 0
    ? 'Nothing is delivered again, and nothing is skipped.'
    : words.join(' ');
}

/** As many as the node looks up times for in one call. */
const PAGE_PARTITIONS = 1000;
const PAGES_MAX = 16;

/** Compares the time with the positions, page by page; null: there are too many partitions. */
async function effectOfTime(
  group: string,
  queue: string,
  timeMs: number,
  signal: AbortSignal,
): Promise<SeekEffect | null> {
  const places: SeekPlace[] = [];
  let after: string | null = null;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const at = 'GET /api/v1/resources/queues/{queue}';
    const query = { limit: PAGE_PARTITIONS, after };
    const page: Partitions = await call(at, { params: { queue }, query, signal });
    const names = page.partitions.map(({ name }) => name);
    for (const place of await placesOf(group, queue, names, timeMs, signal)) places.push(place);
    after = page.nextAfter ?? null;
    if (after === null) return seekEffect(places);
  }
  return null;
}

async function placesOf(
  group: string,
  queue: string,
  partitions: readonly string[],
  timeMs: number,
  signal: AbortSignal,
): Promise<SeekPlace[]> {
  const entries = partitions.map((partition) => ({ queue, partition, timestamp: timeMs }));
  const positions = partitions.map((partition) => ({ queue, consumerGroup: group, partition }));
  const [found, read] = await Promise.all([
    call('POST /api/v1/fetch/offsets', { body: { entries }, signal }),
    call('POST /api/v1/consumer-groups/positions', { body: { positions }, signal }),
  ]);
  return found.entries.map(({ offset, highWatermark, logStartOffset }, i) => ({
    position: read.positions[i]?.offset ?? null,
    target: offset,
    logStart: logStartOffset,
    end: highWatermark,
  }));
}

interface Partitions {
  readonly partitions: readonly { readonly name: string }[];
  readonly nextAfter?: string | null | undefined;
}

interface SeekPartitionProps {
  readonly group: string;
  readonly queue: string;
  readonly partition: string;
  readonly lag: number;
  readonly isLeased: boolean;
  readonly onClose: () => void;
  readonly onMoved: () => void;
}

export function SeekPartition(props: SeekPartitionProps) {
  const { group, queue, partition, lag, isLeased, onClose, onMoved } = props;
  const seek = useAction(async () => {
    const at = 'POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek';
    await call(at, { params: { group, queue, partition }, body: { toEnd: true } });
    tell(
      <>
        Skipped <Name text={partition} /> to its end
      </>,
    );
    onMoved();
    onClose();
  });
  return (
    <ConfirmByName
      title="Skip to the end of a partition"
      action="Skip to the end"
      onConfirm={() => void seek.run()}
      onClose={onClose}
      isBusy={seek.isBusy}
      error={seek.error}
    >
      <p>
        <GroupName group={group} /> <span class="quiet">at</span> <Name text={partition} />{' '}
        <span class="quiet">of</span> <Name text={queue} />
      </p>
      <p>
        {formatInteger(lag)} unread {lag === 1 ? 'message is' : 'messages are'} skipped: this group
        never gets {lag === 1 ? 'it' : 'them'}. Other groups do.
        {isLeased && ' The partition is leased now: the lease ends, and its worker is refused.'}
      </p>
      <p class="quiet">
        As of {formatMoment(Date.now())}; what is pushed until then is skipped too.
      </p>
    </ConfirmByName>
  );
}
