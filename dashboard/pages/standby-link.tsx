/** The link to another cluster: who follows whom, how far, and the promotion of a standby. */
import { useState } from 'preact/hooks';
import {
  duration,
  factsOf,
  noteOf,
  type ReaderRow,
  readerRows,
  size,
} from '../base/standby-link.js';
import { type Column, DataTable } from '../components/data-table.js';
import { ConfirmByName } from '../components/dialog.js';
import { Pairs, Section } from '../components/page.js';
import { tell } from '../components/results.js';
import { Name, useNow } from '../components/text.js';
import { type Link, useCluster } from '../data/cluster.js';
import { useCapabilities } from '../data/identity.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

const COLUMNS: readonly Column<ReaderRow>[] = [
  {
    key: 'name',
    title: 'Standby',
    value: ({ name }) => name,
    cell: ({ name }) => <Name text={name} />,
  },
  { key: 'after', title: 'Has entry', cell: ({ after }) => String(after) },
  {
    key: 'behind',
    title: 'Behind',
    value: ({ behind }) => behind,
    cell: ({ behind }) => String(behind),
  },
  { key: 'held', title: 'Holds', cell: ({ heldBytes }) => size(heldBytes) },
  { key: 'silent', title: 'Silent', cell: ({ idleMs }) => duration(idleMs) },
  {
    key: 'ends',
    title: 'Ends in',
    cell: ({ endsInMs, isNearEnd }) => (
      <span data-tone={isNearEnd ? 'bad' : undefined}>{duration(endsInMs)}</span>
    ),
  },
];

export function StandbyLink() {
  const { health, members, link } = useCluster();
  const nowMs = useNow(1000);
  if (health.data === null) return null;
  const facts = factsOf(link, members.data?.leaderId ?? null, nowMs);
  const readers = readerRows(link ?? undefined, health.data.raft.applied);
  return (
    <Section title="Standby link" actions={link?.role === 'standby' && <Promotion link={link} />}>
      <div class="stack">
        {facts.length > 0 && (
          <Pairs facts={facts.map(({ label, text, tone }) => ({ label, value: text, tone }))} />
        )}
        {readers.length > 0 && (
          <DataTable
            caption="Standbys that read this node"
            columns={COLUMNS}
            rows={readers}
            rowKey={({ name }) => name}
          />
        )}
        {noteOf(link) !== '' && <p class="quiet">{noteOf(link)}</p>}
      </div>
    </Section>
  );
}

/** The node answers within 30 s. */
const PROMOTE_MS_MAX = 35_000;

function Promotion({ link }: { readonly link: Link }) {
  const { nodeAdmin } = useCapabilities();
  const { health } = useCluster();
  const [isAsked, setAsked] = useState(false);
  const promotion = useAction(async () => {
    await call('POST /api/v1/system/link/promote', { body: {}, msMax: PROMOTE_MS_MAX });
    tell('Promoted. This cluster takes writes.');
    health.refresh();
    setAsked(false);
  });
  if (!nodeAdmin) {
    return <span class="quiet">Whoever administers the nodes promotes it.</span>;
  }
  const error = promotion.error && `Not confirmed: ${promotion.error}. Asking again does no harm.`;
  return (
    <>
      <button type="button" onClick={() => setAsked(true)}>
        Promote this standby
      </button>
      {isAsked && (
        <ConfirmByName
          title="Promote this standby"
          name={link.name ?? ''}
          action="Promote"
          onConfirm={() => void promotion.run()}
          onClose={() => setAsked(false)}
          isBusy={promotion.isBusy}
          error={error}
        >
          <p>
            It takes writes from then on, for good, and follows its source no more. It has the
            source up to entry {link.position?.index ?? 0}; what came after that is lost.
          </p>
          <p>
            Nothing tells the source: if it runs, it goes on taking writes, and two clusters that
            both take writes cannot be merged. Stop the source first, or cut it off from its
            clients.
          </p>
        </ConfirmByName>
      )}
    </>
  );
}
