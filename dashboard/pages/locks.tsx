/** Locks and semaphores: who holds what, and until when. They are rows of a namespace. */
import { formatDuration } from '../base/format.js';
import { LOCKS, lockOf, ownerOf } from '../base/kv-lists.js';
import { exactMoment, formatMoment, millisOf } from '../base/moment.js';
import { withQuery } from '../base/routes.js';
import { type Column, DataTable } from '../components/data-table.js';
import { TextInput } from '../components/form.js';
import { textOfStored } from '../components/json-tree.js';
import { Link } from '../components/link.js';
import { Page } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Ago, Badge, Count, Name, useNow } from '../components/text.js';
import { setQuery, usePlace } from '../data/location.js';
import { EVERY_MS } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';

type Row = Success<'POST /api/v1/resources/kv/list'>['rows'][number];

const PAGE_ROWS = 500;
const holder = ({ value }: Row) => ownerOf(textOfStored(value));

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'lock',
    title: 'Lock',
    value: ({ key }) => lockOf(key).name,
    cell: ({ key }) => (
      <Link to={withQuery('/kv', { namespace: LOCKS, key })}>
        <Name text={lockOf(key).name} />
      </Link>
    ),
  },
  {
    key: 'slot',
    title: 'Slot',
    isMinor: true,
    value: ({ key }) => lockOf(key).slot,
    cell: ({ key }) => lockOf(key).slot ?? '–',
  },
  {
    key: 'owner',
    title: 'Holder',
    isText: true,
    value: holder,
    cell: (row) => <Name text={holder(row) ?? '–'} />,
  },
  {
    key: 'token',
    title: 'Token',
    isMinor: true,
    value: ({ version }) => version,
    cell: ({ version }) => <Count of={version} />,
  },
  {
    key: 'renewed',
    title: 'Renewed',
    isMinor: true,
    value: ({ updatedAt }) => updatedAt,
    cell: ({ updatedAt }) => <Ago at={updatedAt} />,
  },
  {
    key: 'expires',
    title: 'Expires in',
    value: ({ expiresAt }) => expiresAt,
    cell: ({ expiresAt }) => <Countdown to={expiresAt} />,
  },
];

const SECOND_MS = 1000;
/** A holder that is alive renews after a third of the time. */
const SOON_S = 10;

function Countdown({ to }: { readonly to: string | null }) {
  const nowMs = useNow(SECOND_MS);
  const atMs = millisOf(to);
  if (atMs === null) return <span class="quiet">never</span>;
  const seconds = Math.ceil((atMs - nowMs) / 1000);
  if (seconds <= 0) return <Badge tone="wait">expired</Badge>;
  return (
    <time
      title={`${formatMoment(to)} (${exactMoment(to)})`}
      data-tone={seconds <= SOON_S ? 'wait' : undefined}
    >
      {formatDuration(seconds)}
    </time>
  );
}

export function LocksPage() {
  const { query } = usePlace();
  const prefix = query.get('prefix') ?? '';
  const ask = (after: string | null, signal: AbortSignal) => {
    const body = { namespace: LOCKS, limit: PAGE_ROWS, includeExpired: false, prefix, after };
    return call('POST /api/v1/resources/kv/list', { body, signal, keepStored: true });
  };
  const { poll, more } = usePages(`locks ${prefix}`, ask, EVERY_MS, { isTyped: true });
  return (
    <Page title="Locks">
      <div class="tight">
        <div class="filters">
          <TextInput
            label="Names that begin with"
            placeholder="Names that begin with"
            type="search"
            value={prefix}
            onInput={(text) => setQuery({ prefix: text })}
            isSearch
          />
        </div>
        <Loaded poll={poll} what="the locks">
          {({ rows }) => (
            <DataTable
              caption="Locks"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ key }) => key}
              more={more}
              empty={prefix === '' ? 'Nobody holds a lock.' : 'Nobody holds a lock of such a name.'}
            />
          )}
        </Loaded>
      </div>
    </Page>
  );
}
