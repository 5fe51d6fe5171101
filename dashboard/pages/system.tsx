/** The nodes of the cluster, its link to another one, and what is switched on. */
import {
  formatBytes,
  formatDuration,
  formatInteger,
  formatPercent,
  formatRate,
} from '../base/format.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Page, Pairs, Section } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Badge, Count, Name } from '../components/text.js';
import { isReachable, type Member, type ReachableMember, useCluster } from '../data/cluster.js';
import { useCapabilities } from '../data/identity.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';
import { StandbyLink } from './standby-link.js';

export function SystemPage() {
  const { consume, clusterAdmin } = useCapabilities();
  const { members } = useCluster();
  return (
    <Page title="System">
      {consume && (
        <Section title="Nodes">
          <Loaded poll={members} what="the nodes">
            {(data) => (
              <DataTable
                caption="Nodes"
                columns={COLUMNS}
                rows={data.members}
                rowKey={({ nodeId }) => String(nodeId)}
              />
            )}
          </Loaded>
        </Section>
      )}
      <StandbyLink />
      {clusterAdmin && <Switches />}
    </Page>
  );
}

type Of = (member: ReachableMember) => number | null | undefined;

const figure = (
  key: string,
  title: string,
  of: Of,
  format: (value: number | null | undefined) => string = formatInteger,
): Column<Member> => ({
  key,
  title,
  value: (member) => (isReachable(member) ? of(member) : null),
  cell: (member) => (isReachable(member) ? format(of(member)) : '–'),
});

const COLUMNS: readonly Column<Member>[] = [
  {
    key: 'node',
    title: 'Node',
    value: ({ nodeId }) => nodeId,
    cell: (member) => (
      <>
        {member.nodeId}{' '}
        <span class="quiet">
          <Name text={(isReachable(member) ? member.hostname : null) ?? member.httpAddr ?? ''} />
        </span>
      </>
    ),
  },
  {
    key: 'state',
    title: 'State',
    isText: true,
    cell: (member) =>
      isReachable(member) ? (
        <Badge tone={member.state === 'leader' ? 'good' : 'plain'}>{member.state}</Badge>
      ) : (
        <Badge tone="bad">does not answer</Badge>
      ),
  },
  figure('lag', 'Behind', ({ lagEntries }) => lagEntries),
  figure('last', 'Last entry', ({ lastLogIndex }) => lastLogIndex),
  figure('durable', 'Durable', ({ durableIndex }) => durableIndex),
  figure('committed', 'Committed', ({ committedIndex }) => committedIndex),
  figure('applied', 'Applied', ({ appliedIndex }) => appliedIndex),
  figure('pushed', 'Pushed/s', ({ rates }) => rates?.pushedPerSecond, formatRate),
  figure('delivered', 'Delivered/s', ({ rates }) => rates?.deliveredPerSecond, formatRate),
  figure('cpu', 'CPU', ({ host }) => host?.cpuPct, formatPercent),
  figure('memory', 'Memory', ({ host }) => host?.anonBytes, formatBytes),
  figure('disk', 'Disk', ({ host }) => host?.diskUsedPct, formatPercent),
  figure('log', 'Log', ({ log }) => log.bytes, formatBytes),
  figure('store', 'Store', ({ store }) => store.usedBytes, formatBytes),
  figure('up', 'Up', ({ uptimeSeconds }) => uptimeSeconds, formatDuration),
  {
    key: 'version',
    title: 'Version',
    isText: true,
    cell: (member) => (isReachable(member) ? member.version : '–'),
  },
];

/** Of the node that answers; they are replicated, so the others follow at once. */
function Switches() {
  const poll = usePoll(
    'switches',
    (signal) => call('GET /api/v1/system/kv-timers', { signal }),
    EVERY_MS_SLOW,
  );
  return (
    <Section title="Switches and allowances">
      <Loaded poll={poll} what="the switches">
        {(switches) => (
          <Pairs
            facts={[
              { label: 'Key/value and locks', value: <OnOff isOn={switches.kvEnabled} /> },
              {
                label: 'Scheduling timers',
                value: <OnOff isOn={switches.timersScheduleEnabled} />,
              },
              { label: 'Firing timers', value: <OnOff isOn={switches.timersFireEnabled} /> },
              { label: 'Tenants with an allowance', value: <Count of={switches.quotaTenants} /> },
              { label: 'Of them near its end', value: <Count of={switches.quotaHot} isBad /> },
            ]}
          />
        )}
      </Loaded>
    </Section>
  );
}

function OnOff({ isOn }: { readonly isOn: boolean }) {
  return <Badge tone={isOn ? 'good' : 'bad'}>{isOn ? 'on' : 'off'}</Badge>;
}
