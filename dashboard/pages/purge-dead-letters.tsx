/** Removes the dead letters of a queue, of one group or of all; their numbers are said first. */
import { counted } from '../base/format.js';
import { ConfirmByName } from '../components/dialog.js';
import { tell } from '../components/results.js';
import { Loaded } from '../components/states.js';
import { Name } from '../components/text.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface PurgeProps {
  readonly queue: string;
  /** "": all. */
  readonly group: string;
  readonly onClose: () => void;
  readonly onOver: () => void;
}

interface Numbers {
  readonly total: number;
  readonly groups: readonly { readonly name: string; readonly count: number }[];
}

/** Groups whose numbers are said one by one. */
const GROUPS_MAX = 10;

export function PurgeDeadLetters({ queue, group, onClose, onOver }: PurgeProps) {
  const numbers = usePoll(
    `to purge ${queue}\n${group}`,
    (signal) => numbersOf(queue, group, signal),
    EVERY_MS_SLOW,
  );
  const purge = useAction(async () => {
    const query = { queue, consumerGroup: group };
    const { deleted } = await call('DELETE /api/v1/dlq', { query });
    tell(`Deleted ${counted(deleted, 'dead letter', 'dead letters')}`);
    onOver();
    onClose();
  });
  return (
    <ConfirmByName
      title="Purge dead letters"
      name={queue}
      action="Delete the dead letters"
      onConfirm={() => void purge.run()}
      onClose={onClose}
      isBusy={purge.isBusy}
      error={purge.error}
    >
      <Loaded poll={numbers} what="their numbers">
        {({ total, groups }) => (
          <div class="stack">
            <p>
              Deletes {counted(total, 'dead letter', 'dead letters')} of <Name text={queue} />
              {group === '' ? ', of every group' : ''}. Their payloads are gone for good, unless the
              messages themselves are still stored.
            </p>
            <ul class="plain-list">
              {groups.map(({ name, count }) => (
                <li key={name}>
                  <Name text={name} />: {counted(count, 'dead letter', 'dead letters')}
                </li>
              ))}
            </ul>
          </div>
        )}
      </Loaded>
    </ConfirmByName>
  );
}

async function numbersOf(queue: string, group: string, signal: AbortSignal): Promise<Numbers> {
  const totalOf = async (consumerGroup: string) => {
    const query = { queue, consumerGroup, limit: 1 };
    return (await call('GET /api/v1/dlq', { query, signal })).total;
  };
  if (group !== '') {
    const total = await totalOf(group);
    return { total, groups: [{ name: group, count: total }] };
  }
  const [total, signatures] = await Promise.all([
    totalOf(''),
    call('GET /api/v1/analytics/dlq-signatures', { query: { queue, limit: 1000 }, signal }),
  ]);
  const names = signatures.groups.slice(0, GROUPS_MAX);
  const counts = await Promise.all(names.map(totalOf));
  return { total, groups: names.map((name, i) => ({ name, count: counts[i] ?? 0 })) };
}
