/** What an operator asks first: is it healthy, how fast, how far behind, what is stuck. */
import { useMemo } from 'preact/hooks';
import { clusterRates } from '../base/cluster-figures.js';
import { counted, formatDuration, formatInteger, formatMs, formatRate } from '../base/format.js';
import { noticesOf } from '../base/notices.js';
import { pathOfQueue } from '../base/routes.js';
import { timelineOf } from '../base/series.js';
import { rangeQuery } from '../base/time-range.js';
import { Link } from '../components/link.js';
import { Facts, Page, Section } from '../components/page.js';
import { RangePicker, useTimeRange } from '../components/range-picker.js';
import { Loaded, Notice } from '../components/states.js';
import { Count, Name } from '../components/text.js';
import { TimeSeries } from '../components/time-series.js';
import { isReachable, type Members, useCluster } from '../data/cluster.js';
import { useSession } from '../data/identity.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { useSettings } from '../data/settings.js';
import { FirstMessage } from './first-message.js';
import type { QueueRow } from './queues.js';
import { TenantHistory } from './workload.js';

type Overview = Success<'GET /api/v1/resources/overview'>;
type Throughput = Success<'GET /api/v1/status'>;
type Point = Throughput['throughput'][number];

const EVERY_MS = 5_000;

export function OverviewPage() {
  const isMember = useSession() !== null;
  const overview = usePoll(
    'overview',
    (signal) => call('GET /api/v1/resources/overview', { signal }),
    EVERY_MS,
  );
  return (
    <Page title="Overview" actions={<RangePicker />}>
      <Notices overview={overview.data} />
      <Loaded poll={overview} what="the totals">
        {(totals) => <Totals totals={totals} />}
      </Loaded>
      {isMember ? <TenantHistory /> : <History />}
      <Positions />
      <Busiest />
    </Page>
  );
}

/** A live region: what is new in it is read aloud. */
function Notices({ overview }: { readonly overview: Overview | null }) {
  const { health, members, link } = useCluster();
  const { waitSeconds } = useSettings();
  const notices = noticesOf({
    status: health.data?.status ?? null,
    raft: members.data,
    link,
    deadLetters: overview?.messages.deadLetter ?? null,
    longestLagSeconds: overview?.lag.time.max ?? null,
    waitSeconds,
  });
  return (
    <div class="notices" role="status" aria-label="Notices">
      {notices.map(({ tone, text, to }) => (
        <Notice key={text} tone={tone}>
          <Link to={to}>
            <bdi>{text}</bdi>
          </Link>
        </Notice>
      ))}
    </div>
  );
}

function Totals({ totals }: { readonly totals: Overview }) {
  const { waitSeconds } = useSettings();
  const { members } = useCluster();
  const isMember = useSession() !== null;
  const { messages, lag, queues, partitions } = totals;
  // Nodes count for all of their tenants together.
  const nodes = isMember ? null : members.data;
  const rates = nodes === null ? null : clusterRates(nodes.members);
  const missing = rates?.silent.length ? `without node ${rates.silent.join(', ')}` : 'per second';
  const flow = [
    { label: 'Pushed', value: formatRate(rates?.pushedPerSecond), note: missing },
    { label: 'Delivered', value: formatRate(rates?.deliveredPerSecond), note: missing },
    { label: 'Acknowledged', value: formatRate(rates?.ackedPerSecond), note: missing },
  ];
  return (
    <Facts
      facts={[
        ...(rates === null ? [] : flow),
        {
          label: 'Pending',
          value: formatInteger(messages.pending),
          note: `${formatInteger(messages.processing)} leased`,
        },
        {
          label: 'Oldest unread',
          value: formatDuration(lag.time.max),
          note:
            lag.offset.max === 0
              ? 'all is read'
              : `${formatInteger(lag.offset.max)} behind in one partition`,
          tone: lag.time.max > waitSeconds ? 'wait' : undefined,
        },
        {
          label: 'Dead letters',
          value: <Link to="/dlq">{formatInteger(messages.deadLetter)}</Link>,
          tone: messages.deadLetter > 0 ? 'bad' : undefined,
        },
        {
          label: 'Queues',
          value: <Link to="/queues">{formatInteger(queues)}</Link>,
          note: counted(partitions, 'partition', 'partitions'),
        },
      ]}
    />
  );
}

/** From the nodes' own history, so that a reload shows the same. */
function History() {
  const { key, now } = useTimeRange();
  const poll = usePoll(
    `throughput ${key}`,
    async (signal) => {
      const range = now();
      // Only the throughput is shown: one queue is the least that can be asked for.
      const query = { ...rangeQuery(range), limit: 1 };
      return { range, status: await call('GET /api/v1/status', { query, signal }) };
    },
    EVERY_MS_SLOW,
  );
  return (
    <Loaded poll={poll} what="the history">
      {({ range, status }) => (
        <Charts status={status} fromS={range.fromMs / 1000} toS={range.toMs / 1000} />
      )}
    </Loaded>
  );
}

interface ChartsProps {
  readonly status: Throughput;
  readonly fromS: number;
  readonly toS: number;
}

function Charts({ status, fromS, toS }: ChartsProps) {
  const [rates, lag, dead] = useMemo(() => {
    const of = (series: readonly { label: string; of: (point: Point) => number | null }[]) =>
      timelineOf(status.throughput, ({ timestamp }) => timestamp, status.bucketMinutes, series);
    return [
      of([
        { label: 'pushed', of: (point) => point.ingestedPerSecond },
        { label: 'delivered', of: (point) => point.popPerSecond },
        { label: 'acknowledged', of: (point) => point.processedPerSecond },
      ]),
      of([
        { label: 'mean', of: (point) => point.avgLagMs },
        { label: 'longest', of: (point) => point.maxLagMs },
      ]),
      of([
        { label: 'dead letters', of: (point) => point.dlqCount },
        { label: 'failed acknowledgements', of: (point) => point.ackFailed },
      ]),
    ];
  }, [status]);
  const span = { fromS, toS };
  const missing = status.nodesMissing;
  return (
    <>
      {missing !== undefined && missing.length > 0 && (
        <Notice tone="wait">The history of node {missing.join(', ')} is missing.</Notice>
      )}
      <div class="columns">
        {rates && (
          <TimeSeries title="Messages per second" timeline={rates} format={formatRate} {...span} />
        )}
        {lag && (
          <TimeSeries title="Age when delivered" timeline={lag} format={formatMs} {...span} />
        )}
        {dead && (
          <TimeSeries title="Failures" timeline={dead} format={formatInteger} isWhole {...span} />
        )}
      </div>
    </>
  );
}

function Positions() {
  const { members } = useCluster();
  if (members.data === null) return null;
  return (
    <Section title="Nodes" note={leaderText(members.data)}>
      <div class="table-box">
        <table>
          <thead>
            <tr>
              <th scope="col" class="text">
                Node
              </th>
              <th scope="col" class="text">
                State
              </th>
              <th scope="col" class="figure minor">
                Last entry
              </th>
              <th scope="col" class="figure minor">
                Committed
              </th>
              <th scope="col" class="figure">
                Applied
              </th>
              <th scope="col" class="figure">
                Behind
              </th>
            </tr>
          </thead>
          <tbody>
            {members.data.members.map((member) => (
              <tr key={member.nodeId}>
                <td class="text">
                  <Link to="/system">{member.nodeId}</Link>
                </td>
                {isReachable(member) ? (
                  <>
                    <td class="text">{member.state}</td>
                    <td class="figure minor">{formatInteger(member.lastLogIndex)}</td>
                    <td class="figure minor">{formatInteger(member.committedIndex)}</td>
                    <td class="figure">{formatInteger(member.appliedIndex)}</td>
                    <td class="figure">{formatInteger(member.lagEntries)}</td>
                  </>
                ) : (
                  <td class="text" colSpan={5} data-tone="bad">
                    does not answer
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function leaderText({ leaderId, term }: Members): string {
  const leader = leaderId === null ? 'no leader' : `node ${leaderId} leads`;
  return `${leader}, term ${formatInteger(term)}`;
}

const BUSIEST = 10;
const QUEUES_ASKED = 1000;
/** A thousand queues are a megabyte: asked for rarely, the page costs a node little. */
const BUSIEST_EVERY_MS = 30_000;

/** Those with most pending messages, of as many as are asked for. */
function Busiest() {
  const poll = usePoll(
    'busiest',
    (signal) => call('GET /api/v1/resources/queues', { query: { limit: QUEUES_ASKED }, signal }),
    BUSIEST_EVERY_MS,
  );
  const isPart = typeof poll.data?.nextAfter === 'string';
  const note = isPart ? `of the newest ${formatInteger(QUEUES_ASKED)} queues` : undefined;
  return (
    <Section title="Queues with most pending" note={note}>
      <Loaded poll={poll} what="the queues">
        {({ queues }) => <BusiestQueues queues={queues as QueueRow[]} />}
      </Loaded>
    </Section>
  );
}

function BusiestQueues({ queues }: { readonly queues: readonly QueueRow[] }) {
  const busiest = useMemo(
    () => [...queues].sort((a, b) => b.messages.pending - a.messages.pending).slice(0, BUSIEST),
    [queues],
  );
  if (queues.length === 0) return <FirstMessage />;
  return (
    <div class="table-box">
      <table>
        <thead>
          <tr>
            <th scope="col" class="text">
              Queue
            </th>
            <th scope="col" class="figure">
              Pending
            </th>
            <th scope="col" class="figure minor">
              Leased
            </th>
            <th scope="col" class="figure">
              Dead letters
            </th>
          </tr>
        </thead>
        <tbody>
          {busiest.map(({ name, messages }) => (
            <tr key={name}>
              <td class="text">
                <Link to={pathOfQueue(name)}>
                  <Name text={name} />
                </Link>
              </td>
              <td class="figure">
                <Count of={messages.pending} />
              </td>
              <td class="figure minor">
                <Count of={messages.processing} />
              </td>
              <td class="figure">
                <Count of={messages.deadLetter} isBad />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
