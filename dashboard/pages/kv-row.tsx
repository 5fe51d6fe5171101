/** One row of the key/value store: read, edited, deleted. */
import { useState } from 'preact/hooks';
import { LOCKS, ownerOf } from '../base/kv-lists.js';
import { ConfirmByName, Dialog } from '../components/dialog.js';
import { textOfStored } from '../components/json-tree.js';
import { Pairs } from '../components/page.js';
import { tell } from '../components/results.js';
import { Empty, Loaded } from '../components/states.js';
import { StoredValue } from '../components/stored-value.js';
import { Ago, Name, Time } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';
import { EditRow } from './kv-editor.js';

type Row = Success<'POST /api/v1/resources/kv/list'>['rows'][number];

interface OneRowProps {
  readonly ns: string;
  readonly rowKey: string;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

export function OneRow({ ns, rowKey, onClose, onChange }: OneRowProps) {
  const [edited, setEdited] = useState<Row | null>(null);
  const poll = usePoll(`row ${ns}\n${rowKey}`, async (signal) => {
    // Its own prefix comes first. The path of a key would not do: browsers resolve dots in it.
    const body = { namespace: ns, prefix: rowKey, limit: 1 };
    const at = 'POST /api/v1/resources/kv/list';
    const { rows } = await call(at, { body, signal, keepStored: true });
    return { row: rows.find(({ key }) => key === rowKey) ?? null };
  });
  if (edited !== null) {
    return (
      <EditRow
        ns={ns}
        row={edited}
        onClose={() => setEdited(null)}
        onSaved={() => {
          setEdited(null);
          poll.refresh();
          onChange();
        }}
      />
    );
  }
  return (
    <Dialog title="One row" onClose={onClose} isWide>
      <Loaded poll={poll} what="the row">
        {({ row }) =>
          row === null ? (
            <Empty>
              No row has the key <Name text={rowKey} />, or it has expired.
            </Empty>
          ) : (
            <Shown
              ns={ns}
              row={row}
              onEdit={() => setEdited(row)}
              onRefresh={poll.refresh}
              onDeleted={() => {
                onChange();
                onClose();
              }}
            />
          )
        }
      </Loaded>
    </Dialog>
  );
}

interface ShownProps {
  readonly ns: string;
  readonly row: Row;
  readonly onEdit: () => void;
  readonly onRefresh: () => void;
  readonly onDeleted: () => void;
}

function Shown({ ns, row, onEdit, onRefresh, onDeleted }: ShownProps) {
  const { write } = useCapabilities();
  const [deleted, setDeleted] = useState<Row | null>(null);
  const { key, value, version, expiresAt, updatedAt } = row;
  return (
    <div class="stack">
      <Pairs
        facts={[
          { label: 'Key', value: <Name text={key} /> },
          { label: 'Version', value: String(version) },
          {
            label: 'Expires',
            value: expiresAt === null ? 'never' : <Ago at={expiresAt} />,
          },
          { label: 'Updated', value: <Time at={updatedAt} /> },
        ]}
      />
      <StoredValue value={value ?? null} label="Value" />
      {write && (
        <div class="dialog-foot">
          <button type="button" onClick={() => setDeleted(row)}>
            Delete…
          </button>
          <button type="button" class="primary" onClick={onEdit}>
            Edit
          </button>
        </div>
      )}
      {deleted !== null && (
        <DeleteRow
          ns={ns}
          row={deleted}
          onClose={() => setDeleted(null)}
          onLost={onRefresh}
          onDeleted={onDeleted}
        />
      )}
    </div>
  );
}

interface DeleteRowProps {
  readonly ns: string;
  readonly row: Row;
  readonly onClose: () => void;
  readonly onLost: () => void;
  readonly onDeleted: () => void;
}

function DeleteRow({
  ns,
  row: { key, value, version },
  onClose,
  onLost,
  onDeleted,
}: DeleteRowProps) {
  const [expect, setExpect] = useState(version);
  const [lost, setLost] = useState<unknown>(null);
  const deletion = useAction(async () => {
    const body = [{ op: 'delete', ns, key, expect }];
    const answer = await call('POST /api/v1/kv', { body, keepStored: true });
    const result = 'results' in answer ? answer.results[0] : undefined;
    if (result?.applied === true || result?.reason === 'absent') {
      tell(
        <>
          Deleted <Name text={key} />
        </>,
      );
      onDeleted();
      return;
    }
    setExpect(result?.version ?? 0);
    setLost(result?.value ?? null);
    onLost();
  });
  const owner = ns === LOCKS ? (ownerOf(textOfStored(value)) ?? 'its holder') : null;
  return (
    <ConfirmByName
      title="Delete a row"
      action={lost === null ? 'Delete the row' : 'Delete this one'}
      onConfirm={() => void deletion.run()}
      onClose={onClose}
      isBusy={deletion.isBusy}
      error={deletion.error}
    >
      {lost === null ? (
        <p>
          Deletes <Name text={key} /> if it still has version {expect}. Its value does not come
          back.
        </p>
      ) : (
        <>
          <p data-tone="bad" role="alert">
            Not deleted: it was written meanwhile, and has version {expect} now.
          </p>
          <StoredValue value={lost} label="Value now" />
        </>
      )}
      {owner !== null && (
        <p>
          This row is a lock. Without it others may take the lock while <Name text={owner} /> still
          works under it.
        </p>
      )}
    </ConfirmByName>
  );
}
