/**
 * The nodes: how each is, what an operator does with one, and what its machine does. What will
 * happen is said first.
 */
import { useState } from 'preact/hooks';
import {
  formatBytes,
  formatDuration,
  formatInteger,
  formatPercent,
  formatRate,
} from '../base/format.js';
import { type MemberChange, type Seat, seatsOf, toldOf } from '../base/membership.js';
import { type Column, DataTable } from '../components/data-table.js';
import { ConfirmByName } from '../components/dialog.js';
import { tell } from '../components/results.js';
import { Badge, Name } from '../components/text.js';
import {
  isReachable,
  type Member,
  type Members,
  type ReachableMember,
  useCluster,
} from '../data/cluster.js';
import { useCapabilities } from '../data/identity.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface Wanted {
  readonly change: MemberChange;
  readonly seat: Seat;
}

export function MemberTable({ data }: { readonly data: Members }) {
  const { nodeAdmin } = useCapabilities();
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const seats = seatsOf(data.members, data.leaderId);
  // A node by itself can neither give its place away nor go.
  const mayChange = nodeAdmin && seats.length > 1;
  const columns = mayChange ? [...COLUMNS, actions(seats, setWanted)] : COLUMNS;
  return (
    <>
      <DataTable
        caption="Every node of the cluster"
        columns={columns}
        rows={data.members}
        rowKey={({ nodeId }) => String(nodeId)}
      />
      {wanted !== null && (
        <ChangeDialog wanted={wanted} seats={seats} onClose={() => setWanted(null)} />
      )}
    </>
  );
}

export function LoadTable({ data }: { readonly data: Members }) {
  return (
    <DataTable
      caption="What every node and its machine do"
      isDense
      columns={LOAD_COLUMNS}
      rows={data.members}
      rowKey={({ nodeId }) => String(nodeId)}
    />
  );
}

const WORDS: Readonly<Record<MemberChange, { readonly title: string; readonly button: string }>> = {
  transfer: { title: 'Hand leadership over', button: 'Let it lead' },
  promote: { title: 'Let a node vote', button: 'Let it vote' },
  remove: { title: 'Remove a node', button: 'Remove the node' },
};

function actions(seats: readonly Seat[], onWant: (wanted: Wanted) => void): Column<Member> {
  return {
    key: 'actions',
    title: 'Actions',
    isText: true,
    cell: ({ nodeId }) => {
      const seat = seats.find((one) => one.nodeId === nodeId);
      if (seat === undefined) return '–';
      const button = (change: MemberChange, label: string) => (
        <button
          type="button"
          class="plain"
          aria-label={`${label}: node ${nodeId}`}
          onClick={() => onWant({ change, seat })}
        >
          {label}
        </button>
      );
      return (
        <>
          {seat.isVoter && !seat.isLeader && seat.isReachable && button('transfer', 'Let lead')}
          {!seat.isVoter && button('promote', 'Let vote')}
          {button('remove', 'Remove')}
        </>
      );
    },
  };
}

interface ChangeDialogProps {
  readonly wanted: Wanted;
  readonly seats: readonly Seat[];
  readonly onClose: () => void;
}

/** A change of the members is answered when it is committed. */
const CHANGE_MS_MAX = 35_000;

function ChangeDialog({ wanted: { change, seat }, seats, onClose }: ChangeDialogProps) {
  const { members } = useCluster();
  const { nodeId } = seat;
  const work = useAction(async () => {
    await CALLS[change](nodeId);
    tell(`Done: ${WORDS[change].title.toLowerCase()}, node ${nodeId}`);
    members.refresh();
    onClose();
  });
  const { title, button } = WORDS[change];
  const isRemoval = change === 'remove';
  return (
    <ConfirmByName
      title={title}
      name={isRemoval ? String(nodeId) : ''}
      action={button}
      onConfirm={() => void work.run()}
      onClose={onClose}
      isBusy={work.isBusy}
      error={work.error}
      isDangerous={isRemoval}
    >
      {toldOf(change, seat, seats).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </ConfirmByName>
  );
}

const msMax = CHANGE_MS_MAX;

const CALLS: Readonly<Record<MemberChange, (id: number) => Promise<unknown>>> = {
  transfer: (to) => call('POST /api/v1/system/raft/transfer', { body: { to }, msMax }),
  promote: (id) => call('POST /api/v1/system/raft/membership/promote', { body: { id }, msMax }),
  remove: (id) =>
    call('DELETE /api/v1/system/raft/membership/members/{id}', {
      params: { id: String(id) },
      msMax,
    }),
};

type Of = (member: ReachableMember) => number | null | undefined;

const figure = (
  key: string,
  title: string,
  of: Of,
  format: (value: number | null | undefined) => string = formatInteger,
  isMinor = false,
): Column<Member> => ({
  key,
  title,
  isMinor,
  value: (member) => (isReachable(member) ? of(member) : null),
  cell: (member) => (isReachable(member) ? format(of(member)) : '–'),
});

/** On a phone, what tells whether a node is well is enough. */
const minor: typeof figure = (key, title, of, format) => figure(key, title, of, format, true);

const NODE: Column<Member> = {
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
};

const COLUMNS: readonly Column<Member>[] = [
  NODE,
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
  minor('last', 'Last entry', ({ lastLogIndex }) => lastLogIndex),
  minor('durable', 'Durable', ({ durableIndex }) => durableIndex),
  minor('committed', 'Committed', ({ committedIndex }) => committedIndex),
  figure('applied', 'Applied', ({ appliedIndex }) => appliedIndex),
  minor('up', 'Up', ({ uptimeSeconds }) => uptimeSeconds, formatDuration),
  {
    key: 'version',
    title: 'Version',
    isText: true,
    isMinor: true,
    cell: (member) => (isReachable(member) ? member.version : '–'),
  },
];

const LOAD_COLUMNS: readonly Column<Member>[] = [
  NODE,
  minor('pushed', 'Pushed/s', ({ rates }) => rates?.pushedPerSecond, formatRate),
  minor('delivered', 'Delivered/s', ({ rates }) => rates?.deliveredPerSecond, formatRate),
  figure('cpu', 'CPU', ({ host }) => host?.cpuPct, formatPercent),
  figure('memory', 'Memory', ({ host }) => host?.anonBytes, formatBytes),
  figure('disk', 'Disk', ({ host }) => host?.diskUsedPct, formatPercent),
  minor('log', 'Log', ({ log }) => log.bytes, formatBytes),
  minor('store', 'Store', ({ store }) => store.usedBytes, formatBytes),
];
