import { briefReasonOf } from '../base/call-error.js';
import { gaugesOf } from '../base/fullest-node.js';
import { Link } from '../components/link.js';
import { Badge, Hidden } from '../components/text.js';
import { access, askForToken } from '../data/access.js';
import { useCluster } from '../data/cluster.js';
import { useCapabilities, useSession } from '../data/identity.js';
import { useStore } from '../data/use-store.js';
import { AccountButton } from './account.js';
import { ClusterMenu } from './cluster-menu.js';

/** A dialog over the page that the shell opens. */
export type ShellDialog = 'palette' | 'cluster' | 'account';

interface TopBarProps {
  readonly isCollapsed: boolean;
  readonly onCollapse: () => void;
  readonly onOpen: (dialog: ShellDialog) => void;
}

export function TopBar({ isCollapsed, onCollapse, onOpen }: TopBarProps) {
  const { operator } = useCapabilities();
  const session = useSession();
  const { members } = useCluster();
  return (
    <header class="top">
      <button
        type="button"
        class="plain"
        aria-label="Navigation"
        aria-expanded={!isCollapsed}
        aria-controls="navigation"
        title="Ctrl or Cmd + \"
        onClick={onCollapse}
      >
        ☰
      </button>
      <Link to="/" class="brand">
        <span class="mark" aria-hidden="true">
          <i />
          <i />
          <i />
        </span>
        svc
      </Link>
      {session === null ? (
        <span class="cluster of-node quiet">{members.data?.clusterId ?? ''}</span>
      ) : (
        <ClusterMenu session={session} onOpen={() => onOpen('cluster')} />
      )}
      <span class="room" />
      {operator && <Gauges />}
      <HealthBadge />
      <button type="button" title="Ctrl or Cmd + K" onClick={() => onOpen('palette')}>
        Go to
      </button>
      {session === null ? (
        <AccessButton />
      ) : (
        <AccountButton session={session} onOpen={() => onOpen('account')} />
      )}
    </header>
  );
}

function Gauges() {
  const { members } = useCluster();
  if (members.data === null) return null;
  return (
    <dl class="gauges" aria-label="The fullest node">
      {gaugesOf(members.data).map(({ label, text, tone, note }) => (
        <div key={label} data-tone={tone === 'good' ? undefined : tone} title={note}>
          <dt>{label}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Whether the cluster serves. It is said aloud when it changes. */
function HealthBadge() {
  const { data, error } = useCluster().health;
  const [tone, text] = (() => {
    if (error !== null) return ['bad', briefReasonOf(error)] as const;
    if (data === null) return ['plain', 'connecting'] as const;
    return data.status === 'healthy'
      ? (['good', 'healthy'] as const)
      : (['wait', data.status] as const);
  })();
  return (
    <span role="status" id="health" title={error?.message}>
      <Badge tone={tone}>{text}</Badge>
    </span>
  );
}

function AccessButton() {
  const { token, tenant } = useStore(access);
  return (
    <button type="button" class="wide-only" onClick={askForToken}>
      Access
      {tenant !== '' && <bdi>: {tenant}</bdi>}
      <Hidden>{token === '' ? ', no token' : ', with a token'}</Hidden>
    </button>
  );
}
