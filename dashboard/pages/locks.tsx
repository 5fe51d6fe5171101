/** Locks and semaphores: who holds what, and until when. They are rows of a namespace. */
import { useState } from 'preact/hooks';
import { LOCKS, lockOf, ownerOf } from '../base/kv-lists.js';
import { type Column, DataTable } from '../components/data-table.js';
import { TextInput } from '../components/form.js';
import { textOfStored } from '../components/json-tree.js';
import { Page } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Ago, Count, Name } from '../components/text.js';
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
    cell: ({ key }) => <Name text={lockOf(key).name} />,
  },
  {
    key: 'slot',
    title: 'Slot',
    value: ({ key }) => lockOf(key).slot,
    cell: ({ key }) => lockOf(key).slot ?? '–',
  },
  {
    key: 'owner',
    title: 'Owner',
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
    title: 'Expires',
    value: ({ expiresAt }) => expiresAt,
    cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Ago at={expiresAt} />),
  },
];

export function LocksPage() {
  const [prefix, setPrefix] = useState('');
  const { poll, more } = usePages(`locks ${prefix}`, (after, signal) => {
    const body = { namespace: LOCKS, limit: PAGE_ROWS, includeExpired: false, prefix, after };
    return call('POST /api/v1/resources/kv/list', { body, signal, keepStored: true });
  });
  return (
    <Page title="Locks">
      <div>
        <div class="filters">
          <TextInput
            label="Names that begin with"
            placeholder="Names that begin with"
            type="search"
            value={prefix}
            onInput={setPrefix}
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
              empty="Nobody holds a lock."
            />
          )}
        </Loaded>
      </div>
    </Page>
  );
}
