/** Small texts of consumer groups. */
import { QUEUE_MODE } from '../base/consumer-groups.js';
import { formatDuration } from '../base/format.js';
import { Name } from '../components/text.js';

export const WITHOUT_A_GROUP = 'without a group';

export function GroupName({ group }: { readonly group: string }) {
  if (group !== QUEUE_MODE) return <Name text={group} />;
  return <span title="Pops that name no consumer group">{WITHOUT_A_GROUP}</span>;
}

export function OldestUnread({ seconds }: { readonly seconds: number }) {
  if (seconds === 0) return <span class="quiet">–</span>;
  return <>{formatDuration(seconds)}</>;
}
