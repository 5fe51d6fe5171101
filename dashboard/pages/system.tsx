/** The nodes of the cluster, its link to another one, and what is switched on. */
import { Page, Pairs, Section } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Badge, Count } from '../components/text.js';
import { useCluster } from '../data/cluster.js';
import { useCapabilities } from '../data/identity.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';
import { AddNode } from './add-node.js';
import { LoadTable, MemberTable } from './member-table.js';
import { StandbyLink } from './standby-link.js';

export function SystemPage() {
  const { nodes, nodeAdmin } = useCapabilities();
  const { members } = useCluster();
  return (
    <Page title="System">
      {nodes && (
        <>
          <Section title="Nodes" actions={nodeAdmin && <AddNode />}>
            <Loaded poll={members} what="the nodes">
              {(data) => <MemberTable data={data} />}
            </Loaded>
          </Section>
          <Section title="Load">
            <Loaded poll={members} what="the load">
              {(data) => <LoadTable data={data} />}
            </Loaded>
          </Section>
        </>
      )}
      <StandbyLink />
      {nodeAdmin && <Switches />}
    </Page>
  );
}

/** The switches as the node that answers has them; they are replicated. */
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
              {
                label: 'Tenants near the end of it',
                value: <Count of={switches.quotaHot} isBad />,
              },
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
