/** Small texts of consumer groups. */
import { QUEUE_MODE } from '../base/consumer-groups.js';
import { formatDuration, formatInteger } from '../base/format.js';
import { Badge, Count, Name } from '../components/text.js';
import type { Success } from '../data/request.js';

type Row = Success<'GET /api/v1/consumer-groups'>[number];

const TONES = { Lagging: 'bad', Stable: 'good', Dead: 'plain' } as const;
const STATES = { Lagging: 'lagging', Stable: 'reading', Dead: 'nothing read yet' } as const;

export const WITHOUT_A_GROUP = 'without a group';

export function GroupName({ group }: { readonly group: string }) {
  if (group !== QUEUE_MODE) return <Name text={group} />;
  return <span title="Pops that name no consumer group">{WITHOUT_A_GROUP}</span>;
}

export function OldestUnread({ seconds }: { readonly seconds: number }) {
  if (seconds === 0) return <span class="quiet">–</span>;
  return <>{formatDuration(seconds)}</>;
}

export function GroupState({ state }: Pick<Row, 'state'>) {
  return <Badge tone={TONES[state]}>{STATES[state]}</Badge>;
}

/** How many of its partitions a group has something to read in. */
export function Behind({ of: { partitionsWithLag, partitionCursors } }: { readonly of: Row }) {
  return (
    <>
      <Count of={partitionsWithLag} />
      <span class="quiet"> of {formatInteger(partitionCursors)}</span>
    </>
  );
}
