/** The key/value store: its namespaces, the rows of one of them, one row. */
import { useMemo, useState } from 'preact/hooks';
import { counted, formatInteger } from '../base/format.js';
import { holds } from '../base/order.js';
import { withQuery } from '../base/routes.js';
import { Crumb } from '../components/crumb.js';
import { type Column, DataTable } from '../components/data-table.js';
import { TextInput, Toggle } from '../components/form.js';
import { StoredText } from '../components/json-tree.js';
import { Link } from '../components/link.js';
import { ListFilter } from '../components/list-filter.js';
import { Page } from '../components/page.js';
import { Empty, Loaded, Notice } from '../components/states.js';
import { Ago, Badge, Count, Name, Time } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { navigate, setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_LIST, EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';
import { CreateRow } from './kv-editor.js';
import { OneRow } from './kv-row.js';

type Row = Success<'POST /api/v1/resources/kv/list'>['rows'][number];
type Namespaces = Success<'GET /api/v1/resources/kv/namespaces'>;
type Namespace = Namespaces['namespaces'][number];

const PAGE_ROWS = 500;

const pathOfNamespace = (namespace: string) => withQuery('/kv', { namespace });

const NAMESPACE_COLUMNS: readonly Column<Namespace>[] = [
  {
    key: 'namespace',
    title: 'Namespace',
    value: ({ namespace }) => namespace,
    cell: ({ namespace }) => (
      <Link to={pathOfNamespace(namespace)}>
        <Name text={namespace} />
      </Link>
    ),
  },
  {
    key: 'keys',
    title: 'Keys, expired ones too',
    value: ({ keys }) => keys,
    cell: ({ keys }) => <Count of={keys} />,
  },
];

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
    isMinor: true,
    value: ({ version }) => version,
    cell: ({ version }) => <Count of={version} />,
  },
  {
    key: 'expires',
    title: 'Expires',
    isMinor: true,
    value: ({ expiresAt }) => expiresAt,
    cell: ({ expiresAt, expired }) => <Expires at={expiresAt} isOver={expired} />,
  },
  {
    key: 'updated',
    title: 'Updated',
    isMinor: true,
    value: ({ updatedAt }) => updatedAt,
    cell: ({ updatedAt }) => <Time at={updatedAt} />,
  },
];

function Expires({ at, isOver }: { readonly at: string | null; readonly isOver: boolean }) {
  if (at === null) return <span class="quiet">never</span>;
  return isOver ? <Badge tone="wait">expired</Badge> : <Ago at={at} />;
}

export function KvPage() {
  const { query } = usePlace();
  const { write } = useCapabilities();
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState(0);
  const namespace = query.get('namespace') ?? '';
  const heading =
    namespace === '' ? undefined : <Crumb to="/kv" title="Key/value" name={namespace} />;
  const create = write && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      Create a row
    </button>
  );
  return (
    <Page title="Key/value" heading={heading} actions={create}>
      {namespace === '' ? <NamespaceList /> : <Rows key={created} namespace={namespace} />}
      {isCreating && (
        <CreateRow
          namespace={namespace}
          onClose={() => setCreating(false)}
          onCreated={(ns, key) => {
            setCreating(false);
            // The rows are asked for anew.
            setCreated(created + 1);
            navigate(withQuery('/kv', { namespace: ns, key }));
          }}
        />
      )}
    </Page>
  );
}

function NamespaceList() {
  const poll = usePoll(
    'kv namespaces',
    (signal) => call('GET /api/v1/resources/kv/namespaces', { signal }),
    EVERY_MS_SLOW,
  );
  return (
    <Loaded poll={poll} what="the namespaces">
      {(found) => <Namespaces found={found} />}
    </Loaded>
  );
}

function Namespaces({ found: { namespaces, truncated } }: { readonly found: Namespaces }) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const shown = useMemo(
    () => namespaces.filter(({ namespace }) => holds(text, [namespace])),
    [namespaces, text],
  );
  if (namespaces.length === 0) {
    return <Empty>Nothing is stored yet. A row is written by PUT /api/v1/kv/NAMESPACE/KEY.</Empty>;
  }
  return (
    <div>
      <ListFilter
        label="Namespace holds"
        count={counted(shown.length, 'namespace', 'namespaces')}
      />
      {truncated === true && (
        <Notice tone="wait">
          The first {formatInteger(namespaces.length)} namespaces are shown; there are more. Others
          open by their address: /kv?namespace=NAME.
        </Notice>
      )}
      <DataTable
        caption="Namespaces"
        columns={NAMESPACE_COLUMNS}
        rows={shown}
        rowKey={({ namespace }) => namespace}
        onOpen={({ namespace }) => navigate(pathOfNamespace(namespace))}
        empty="No namespace has this in its name."
      />
    </div>
  );
}

function Rows({ namespace }: { readonly namespace: string }) {
  const { query } = usePlace();
  const prefix = query.get('prefix') ?? '';
  const key = query.get('key');
  const includeExpired = query.get('expired') === 'shown';
  const list = `kv ${namespace}\n${prefix}\n${includeExpired}`;
  const ask = (after: string | null, signal: AbortSignal) => {
    const body = { namespace, limit: PAGE_ROWS, includeExpired, prefix, after };
    return call('POST /api/v1/resources/kv/list', { body, signal, keepStored: true });
  };
  const { poll, more } = usePages(list, ask, EVERY_MS_LIST, { isTyped: true });
  return (
    <div>
      <div class="filters">
        <TextInput
          label="Keys that begin with"
          placeholder="Keys that begin with"
          type="search"
          value={prefix}
          onInput={(text) => setQuery({ prefix: text })}
          isSearch
        />
        <Toggle
          label="Expired rows too"
          isOn={includeExpired}
          onInput={(isOn) => setQuery({ expired: isOn ? 'shown' : null })}
        />
      </div>
      <Loaded poll={poll} what="the rows">
        {({ rows }) => (
          <div class="tight">
            <DataTable
              caption={`Rows of ${namespace}`}
              columns={COLUMNS}
              rows={rows}
              rowKey={(row) => row.key}
              onOpen={(row) => setQuery({ key: row.key })}
              more={more}
              empty="No key here."
            />
          </div>
        )}
      </Loaded>
      {key !== null && (
        <OneRow
          key={key}
          ns={namespace}
          rowKey={key}
          onClose={() => setQuery({ key: null })}
          onChange={poll.refresh}
        />
      )}
    </div>
  );
}
