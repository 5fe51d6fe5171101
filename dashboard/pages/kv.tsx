/** The key/value store: namespaces, and the rows of one of them. */
import { useState } from 'preact/hooks';
import { RawJson } from '../base/raw-json.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Dialog } from '../components/dialog.js';
import { Suggestions, TextInput } from '../components/form.js';
import { JsonTree, StoredText } from '../components/json-tree.js';
import { Page, Pairs } from '../components/page.js';
import { Empty, Loaded } from '../components/states.js';
import { Ago, Count, Name, Time } from '../components/text.js';
import { setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';

type Row = Success<'POST /api/v1/resources/kv/list'>['rows'][number];

const PAGE_ROWS = 500;

const COLUMNS: readonly Column<Row>[] = [
  { key: 'key', title: 'Key', value: ({ key }) => key, cell: ({ key }) => <Name text={key} /> },
  {
    key: 'value',
    title: 'Value',
    isText: true,
    isLong: true,
    cell: ({ value }) => <StoredText value={value} />,
  },
  {
    key: 'version',
    title: 'Version',
    value: ({ version }) => version,
    cell: ({ version }) => <Count of={version} />,
  },
  {
    key: 'expires',
    title: 'Expires',
    isMinor: true,
    value: ({ expiresAt }) => expiresAt,
    cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Ago at={expiresAt} />),
  },
  {
    key: 'updated',
    title: 'Updated',
    isMinor: true,
    value: ({ updatedAt }) => updatedAt,
    cell: ({ updatedAt }) => <Time at={updatedAt} />,
  },
];

export function KvPage() {
  const { query } = usePlace();
  const [prefix, setPrefix] = useState('');
  const namespaces = usePoll(
    'kv namespaces',
    (signal) => call('GET /api/v1/resources/kv/namespaces', { signal }),
    EVERY_MS_SLOW,
  );
  const names = namespaces.data?.namespaces.map(({ namespace }) => namespace) ?? [];
  const typed = query.get('namespace');
  const namespace = typed ?? names[0] ?? '';
  return (
    <Page title="Key/value">
      <div>
        <div class="filters">
          <TextInput
            label="Namespace"
            placeholder="Namespace"
            list="kv-namespaces"
            value={namespace}
            onInput={(text) => setQuery({ namespace: text })}
          />
          <TextInput
            label="Keys that begin with"
            placeholder="Keys that begin with"
            type="search"
            value={prefix}
            onInput={setPrefix}
            isSearch
          />
          <Suggestions id="kv-namespaces" values={names} />
        </div>
        <Loaded poll={namespaces} what="the namespaces">
          {() =>
            namespace === '' ? (
              <Empty>
                Nothing is stored yet. A row is written by PUT /api/v1/kv/NAMESPACE/KEY.
              </Empty>
            ) : (
              <Rows namespace={namespace} prefix={prefix} />
            )
          }
        </Loaded>
      </div>
    </Page>
  );
}

function Rows({ namespace, prefix }: { readonly namespace: string; readonly prefix: string }) {
  const [opened, setOpened] = useState<Row | null>(null);
  const { poll, more } = usePages(`kv ${namespace}\n${prefix}`, async (after, signal) => {
    const body = { namespace, limit: PAGE_ROWS, includeExpired: false, prefix, after };
    const keepStored = true;
    return call('POST /api/v1/resources/kv/list', { body, signal, keepStored });
  });
  return (
    <Loaded poll={poll} what="the rows">
      {({ rows }) => (
        <>
          <DataTable
            caption={`Rows of ${namespace}`}
            columns={COLUMNS}
            rows={rows}
            rowKey={({ key }) => key}
            onOpen={setOpened}
            more={more}
            empty="No key here."
          />
          {opened !== null && <OneRow row={opened} onClose={() => setOpened(null)} />}
        </>
      )}
    </Loaded>
  );
}

function OneRow({ row, onClose }: { readonly row: Row; readonly onClose: () => void }) {
  const { key, value, version, expiresAt, updatedAt } = row;
  return (
    <Dialog title="One row" onClose={onClose} isWide>
      <div class="stack">
        <Pairs
          facts={[
            { label: 'Key', value: <Name text={key} /> },
            { label: 'Version', value: String(version) },
            { label: 'Expires', value: expiresAt === null ? 'never' : <Time at={expiresAt} /> },
            { label: 'Updated', value: <Time at={updatedAt} /> },
          ]}
        />
        <JsonTree value={value instanceof RawJson ? value : (value ?? null)} label="Value" />
      </div>
    </Dialog>
  );
}
