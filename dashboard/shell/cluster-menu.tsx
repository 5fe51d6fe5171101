/** Behind a gateway: the cluster that the page acts on, and the way to another one. */
import { useMemo, useState } from 'preact/hooks';
import { clustersOf } from '../base/acting.js';
import { formatInteger } from '../base/format.js';
import { holds } from '../base/order.js';
import { Dialog } from '../components/dialog.js';
import { TextInput } from '../components/form.js';
import { Badge, Hidden, Name } from '../components/text.js';
import { actOn, type Membership, type Session, useMembership } from '../data/identity.js';
import { usePlace } from '../data/location.js';

interface ClusterMenuProps {
  readonly session: Session;
  readonly onOpen: () => void;
}

export function ClusterMenu({ session, onOpen }: ClusterMenuProps) {
  const here = useMembership();
  const isOnly = clustersOf(session).every(({ id }) => id === here?.id);
  if (isOnly) return <span class="cluster">{here?.slug ?? 'no cluster'}</span>;
  return (
    <button type="button" class="cluster" aria-haspopup="dialog" onClick={onOpen}>
      <Hidden>Acting on </Hidden>
      <bdi>{here?.slug ?? 'no cluster'}</bdi>
      <span aria-hidden="true"> ▾</span>
    </button>
  );
}

/** A live operator has every cluster of the cell. */
const SHOWN_MAX = 50;
const FILTERED_MIN = 9;
const bySlug = new Intl.Collator('en', { numeric: true });

interface ClusterDialogProps {
  readonly session: Session;
  readonly onClose: () => void;
}

export function ClusterDialog({ session, onClose }: ClusterDialogProps) {
  const [text, setText] = useState('');
  const here = useMembership();
  const { path } = usePlace();
  const all = clustersOf(session);
  const sorted = useMemo(() => [...all].sort((a, b) => bySlug.compare(a.slug, b.slug)), [all]);
  const found = sorted.filter(({ slug, tenant_slug: tenant }) => holds(text, [slug, tenant]));
  const choose = ({ id }: Membership) => {
    if (id === here?.id) onClose();
    else actOn(session, id, sectionOf(path));
  };
  return (
    <Dialog title="Act on a cluster" onClose={onClose}>
      <div class="stack">
        {all.length >= FILTERED_MIN && (
          <TextInput
            type="search"
            label="Cluster or tenant"
            placeholder="Cluster or tenant"
            value={text}
            onInput={setText}
          />
        )}
        <ul class="clusters">
          {found.slice(0, SHOWN_MAX).map((cluster) => (
            <li key={cluster.id}>
              <button
                type="button"
                aria-current={cluster.id === here?.id ? 'true' : undefined}
                onClick={() => choose(cluster)}
              >
                <Name text={cluster.slug} />
                <span class="quiet">{aboutOf(cluster)}</span>
                {cluster.status !== 'active' && <Badge tone="wait">{cluster.status}</Badge>}
              </button>
            </li>
          ))}
        </ul>
        {found.length === 0 && <p class="quiet">None has this in its name.</p>}
        {found.length > SHOWN_MAX && (
          <p class="quiet">
            {formatInteger(found.length - SHOWN_MAX)} more: type a part of the name.
          </p>
        )}
      </div>
    </Dialog>
  );
}

function aboutOf({ slug, tenant_slug: tenant, role }: Membership): string {
  return tenant === slug ? role : `${tenant}, ${role}`;
}

/** The list that a page belongs to: what one cluster has in it, another has not. */
function sectionOf(path: string): string {
  return `/${path.split('/')[1] ?? ''}`;
}
