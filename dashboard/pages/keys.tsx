/** API keys of the cluster: what each may do, when it was used last, and whether it still is. */
import { useMemo } from 'preact/hooks';
import { counted } from '../base/format.js';
import { holds } from '../base/order.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Toggle } from '../components/form.js';
import { ListFilter } from '../components/list-filter.js';
import { Page } from '../components/page.js';
import { Empty, Loaded } from '../components/states.js';
import { Ago, Badge, Name } from '../components/text.js';
import { setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { NewKey } from './new-key.js';
import { OneKey } from './one-key.js';

type Key = Success<'GET /api/console/keys'>[number];

const COLUMNS: readonly Column<Key>[] = [
  {
    key: 'name',
    title: 'Name',
    isLong: true,
    value: ({ name }) => name,
    cell: ({ name }) => <Name text={name} />,
  },
  {
    key: 'scopes',
    title: 'Scopes',
    isText: true,
    isMinor: true,
    value: ({ scopes }) => scopes.join(' '),
    cell: ({ scopes }) => scopes.join(', '),
  },
  {
    key: 'created',
    title: 'Created',
    isMinor: true,
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Ago at={created_at} />,
  },
  {
    key: 'used',
    title: 'Last used',
    value: ({ last_used_at }) => last_used_at,
    cell: ({ last_used_at: at }) =>
      at === null ? <span class="quiet">never</span> : <Ago at={at} />,
  },
  {
    key: 'state',
    title: 'State',
    isText: true,
    value: ({ revoked_at }) => revoked_at ?? '',
    cell: ({ revoked_at }) =>
      revoked_at === null ? <Badge tone="good">active</Badge> : <Badge>revoked</Badge>,
  },
];

export function KeysPage() {
  const { query } = usePlace();
  const poll = usePoll(
    'keys',
    (signal) => call('GET /api/console/keys', { signal }),
    EVERY_MS_SLOW,
  );
  const open = poll.data?.find(({ id }) => id === query.get('key'));
  return (
    <Page title="API keys" actions={<NewKey onChange={poll.refresh} />}>
      <Loaded poll={poll} what="the keys">
        {(keys) => <Listed keys={keys} />}
      </Loaded>
      {open !== undefined && (
        <OneKey
          key={open.id}
          of={open}
          onClose={() => setQuery({ key: null })}
          onChange={poll.refresh}
        />
      )}
    </Page>
  );
}

/** Newest first, as they come. Revoked ones are many after years, and shown when asked for. */
function Listed({ keys }: { readonly keys: readonly Key[] }) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const showsRevoked = query.get('revoked') === 'shown';
  const shown = useMemo(
    () =>
      keys.filter(({ name, scopes, revoked_at }) => {
        return (showsRevoked || revoked_at === null) && holds(text, [name, scopes.join(' ')]);
      }),
    [keys, text, showsRevoked],
  );
  const revoked = keys.filter(({ revoked_at }) => revoked_at !== null).length;
  if (keys.length === 0) {
    return <Empty>No key yet. Programs push and take messages with one; create the first.</Empty>;
  }
  return (
    <>
      <ListFilter label="Name or scope holds" count={counted(shown.length, 'key', 'keys')}>
        {revoked > 0 && (
          <Toggle
            label={`Show ${counted(revoked, 'revoked one', 'revoked ones')}`}
            isOn={showsRevoked}
            onInput={(isOn) => setQuery({ revoked: isOn ? 'shown' : null })}
          />
        )}
      </ListFilter>
      <DataTable
        caption="API keys"
        columns={COLUMNS}
        rows={shown}
        rowKey={({ id }) => id}
        onOpen={({ id }) => setQuery({ key: id })}
        empty={text === '' ? 'Every key is revoked.' : 'No key has this in its name or scopes.'}
      />
    </>
  );
}
