/** The partitions of a queue: by depth, as a plot and a table, or all by name. */
import { useMemo, useState } from 'preact/hooks';
import { counted, formatDuration, formatInteger } from '../base/format.js';
import { levelDepths } from '../base/sunflower.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Select } from '../components/form.js';
import { Section } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Ago, Bytes, Count, Name } from '../components/text.js';
import { setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';
import { Sunflower } from './sunflower.js';

export type Ranking = Success<'GET /api/v1/resources/partitions'>;
type Ranked = Ranking['partitions'][number];
type Listed = Success<'GET /api/v1/status/queues/{queue}'>['partitions'][number];

/** As many as the node ranks in one answer. */
const RANKED_MAX = 5000;
/** Seeds of partitions that were looked at and not ranked are drawn up to here. */
const SEEDS_MAX = 20_000;
const PAGE_ROWS = 500;
const VIEWS = [
  { value: '', label: 'By depth' },
  { value: 'name', label: 'By name' },
];

const openPartition = (partition: string) => setQuery({ partition });

/** A node walks over all of them for each answer: many are looked at less often. */
export const MANY_PARTITIONS = 1000;
const EVERY_MS_MANY = 45_000;

export function useRanking(queue: string) {
  const [areMany, setMany] = useState(false);
  return usePoll(
    `partitions ${queue}`,
    async (signal) => {
      const query = { queue, limit: RANKED_MAX };
      const ranking = await call('GET /api/v1/resources/partitions', { query, signal });
      setMany(ranking.walked > MANY_PARTITIONS);
      return ranking;
    },
    areMany ? EVERY_MS_MANY : EVERY_MS_SLOW,
  );
}

interface PartitionsProps {
  readonly queue: string;
  readonly ranking: ReturnType<typeof useRanking>;
}

export function QueuePartitions({ queue, ranking }: PartitionsProps) {
  const { query } = usePlace();
  const view = query.get('partitions') ?? '';
  const choice = (
    <Select
      label="Order of the partitions"
      value={view}
      onInput={(value) => setQuery({ partitions: value })}
      choices={VIEWS}
    />
  );
  return (
    <Section title="Partitions" actions={choice}>
      {view === 'name' ? (
        <ByName queue={queue} />
      ) : (
        <Loaded poll={ranking} what="the partitions">
          {(ranked) => <ByDepth ranking={ranked} />}
        </Loaded>
      )}
    </Section>
  );
}

const nameColumn = <Row,>(of: (row: Row) => string): Column<Row> => ({
  key: 'partition',
  title: 'Partition',
  value: of,
  cell: (row) => <Name text={of(row)} />,
});

const figure = <Row,>(
  key: string,
  title: string,
  of: (row: Row) => number,
  isMinor = false,
): Column<Row> => ({
  key,
  title,
  isMinor,
  value: of,
  cell: (row) => <Count of={of(row)} isBad={key === 'dead'} />,
});

const DEPTH_COLUMNS: readonly Column<Ranked>[] = [
  nameColumn(({ partition }) => partition),
  figure('pending', 'Pending', ({ pending }) => pending),
  figure('processing', 'Leased', ({ processing }) => processing),
  {
    key: 'lag',
    title: 'Oldest unread',
    isMinor: true,
    value: ({ lagSeconds }) => lagSeconds,
    cell: ({ lagSeconds }) => formatDuration(lagSeconds),
  },
];

function ByDepth({ ranking }: { readonly ranking: Ranking }) {
  const { partitions, walked } = ranking;
  const [pointed, setPointed] = useState<number | null>(null);
  const depths = useMemo(() => depthsOf(ranking), [ranking]);
  const below = pointed === null ? undefined : partitions[pointed];
  const rest = walked - partitions.length;
  return (
    <div class="partitions">
      <figure class="chart">
        <Sunflower
          depths={depths}
          onPoint={setPointed}
          onChoose={(seed) => openPartition(partitions[seed]?.partition ?? '')}
        />
        <Scale deepest={depths[0] ?? 0} least={rest > 0 ? (partitions.at(-1)?.pending ?? 0) : 0} />
        <p class="pointed quiet" aria-hidden="true">
          {below === undefined ? (
            'Seeds are partitions, the deepest inside.'
          ) : (
            <>
              <Name text={below.partition} />: {formatInteger(below.pending)} pending,{' '}
              {formatInteger(below.processing)} leased
            </>
          )}
        </p>
      </figure>
      <div>
        <p class="table-note quiet">{summaryOf(ranking)}</p>
        <DataTable
          caption="Partitions by depth"
          columns={DEPTH_COLUMNS}
          rows={partitions}
          rowKey={({ partition }) => partition}
          onOpen={({ partition }) => openPartition(partition)}
          empty="No partition yet: the first message makes one."
        />
        {rest > 0 && (
          <p class="table-note quiet">
            {`${counted(rest, 'partition more has', 'partitions more have')} ${formatInteger(
              partitions.at(-1)?.pending,
            )} pending or fewer.`}
          </p>
        )}
      </div>
    </div>
  );
}

/** Those that are not ranked have at most what the last ranked one has; they are drawn empty. */
function depthsOf({ partitions, walked }: Ranking): readonly number[] {
  const rest = Math.max(Math.min(walked, SEEDS_MAX) - partitions.length, 0);
  return [...partitions.map(({ pending }) => pending), ...new Array<number>(rest).fill(0)];
}

function summaryOf({ partitions, walked, truncated }: Ranking): string {
  const waiting = partitions.filter(({ pending }) => pending > 0).length;
  const all = `${truncated ? 'the first ' : ''}${counted(walked, 'partition', 'partitions')}`;
  const more = waiting === partitions.length && walked > waiting ? 'At least ' : '';
  return `${more}${formatInteger(waiting)} of ${all} with pending messages.`;
}

interface ScaleProps {
  readonly deepest: number;
  /** What those that are drawn empty may have at most. */
  readonly least: number;
}

function Scale({ deepest, least }: ScaleProps) {
  return (
    <figcaption class="scale">
      <span class="chart-title">Pending</span>
      <span class="legend">
        <i class="seed" data-level={0} aria-hidden="true" />
        {least === 0 ? 'none' : `not ranked, at most ${formatInteger(least)}`}
      </span>
      {levelDepths(deepest).map(({ level, from }) => (
        <span key={level} class="legend">
          <i class="seed" data-level={level} aria-hidden="true" />
          {formatInteger(from)}
        </span>
      ))}
    </figcaption>
  );
}

const NAME_COLUMNS: readonly Column<Listed>[] = [
  nameColumn(({ name }) => name),
  figure('pending', 'Pending', ({ messages }) => messages.pending),
  figure('processing', 'Leased', ({ messages }) => messages.processing),
  figure('dead', 'Dead letters', ({ messages }) => messages.deadLetter),
  figure('completed', 'Completed', ({ messages }) => messages.completed, true),
  {
    key: 'retained',
    title: 'Retained',
    isMinor: true,
    value: ({ retainedBytes }) => retainedBytes,
    cell: ({ retainedBytes }) => <Bytes of={retainedBytes} />,
  },
  {
    key: 'oldest',
    title: 'Oldest message',
    isMinor: true,
    value: ({ oldestMessage }) => oldestMessage,
    cell: ({ oldestMessage }) => <Ago at={oldestMessage} />,
  },
  {
    key: 'activity',
    title: 'Last activity',
    isMinor: true,
    value: ({ lastActivity }) => lastActivity,
    cell: ({ lastActivity }) => <Ago at={lastActivity} />,
  },
];

function ByName({ queue }: { readonly queue: string }) {
  const { poll, more } = usePages(
    `partitions by name ${queue}`,
    async (after, signal) => {
      const found = await call('GET /api/v1/status/queues/{queue}', {
        params: { queue },
        query: { limit: PAGE_ROWS, after },
        signal,
      });
      return { rows: found.partitions, nextAfter: found.nextAfter ?? null };
    },
    EVERY_MS_SLOW,
  );
  return (
    <Loaded poll={poll} what="the partitions">
      {({ rows }) => (
        <DataTable
          caption="Partitions by name"
          columns={NAME_COLUMNS}
          rows={rows}
          rowKey={({ name }) => name}
          onOpen={({ name }) => openPartition(name)}
          more={more}
          empty="No partition yet: the first message makes one."
        />
      )}
    </Loaded>
  );
}
