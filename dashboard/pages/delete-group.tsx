/** Deletes a consumer group, at every queue or at one, after its name was typed. */
import { useState } from 'preact/hooks';
import type { QueueSums } from '../base/consumer-groups.js';
import { counted } from '../base/format.js';
import { ConfirmByName } from '../components/dialog.js';
import { Field, Select, Toggle } from '../components/form.js';
import { tell } from '../components/results.js';
import { Name } from '../components/text.js';
import { navigate } from '../data/location.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface DeleteGroupProps {
  readonly group: string;
  readonly sums: readonly QueueSums[];
  /** False: there are more queues and partitions than these. */
  readonly isWhole: boolean;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

export function DeleteGroup({ group, sums, isWhole, onClose, onDeleted }: DeleteGroupProps) {
  const [queue, setQueue] = useState('');
  const [keepsStart, setKeepsStart] = useState(false);
  const chosen = queue === '' ? sums : sums.filter((one) => one.queue === queue);
  const partitions = chosen.reduce((sum, one) => sum + one.partitions, 0);
  const lag = chosen.reduce((sum, one) => sum + one.lag, 0);
  const atLeast = isWhole ? '' : 'at least ';
  const deletion = useAction(async () => {
    const query = { deleteMetadata: keepsStart ? 'false' : null };
    const { deletedPartitions } =
      queue === ''
        ? await call('DELETE /api/v1/consumer-groups/{group}', { params: { group }, query })
        : await call('DELETE /api/v1/consumer-groups/{group}/queues/{queue}', {
            params: { group, queue },
            query,
          });
    tell(
      <>
        Deleted <Name text={group} /> with {counted(deletedPartitions, 'position', 'positions')}
      </>,
    );
    onClose();
    if (sums.length === chosen.length) navigate('/consumers');
    else onDeleted();
  });
  const queues = [
    { value: '', label: `every queue (${sums.length}${isWhole ? '' : ' or more'})` },
    ...sums.map((one) => ({ value: one.queue, label: one.queue })),
  ];
  return (
    <ConfirmByName
      title="Delete a consumer group"
      name={group}
      action="Delete the group"
      onConfirm={() => void deletion.run()}
      onClose={onClose}
      isBusy={deletion.isBusy}
      error={deletion.error}
    >
      <Field label="At">
        {(id) => <Select id={id} value={queue} choices={queues} onInput={setQueue} />}
      </Field>
      <p>
        The group loses {atLeast}
        {counted(partitions, 'position', 'positions')} in{' '}
        {counted(chosen.length, 'queue', 'queues')}, and the leases there end: acknowledgements of
        its workers are refused. No message is removed.
      </p>
      <p>
        {lag > 0 && `${counted(lag, 'message is', 'messages are')} still unread by it. `}
        {keepsStart
          ? 'When it reads again, it begins at the start point that it was registered with.'
          : 'When it reads again, it is a new group, and begins where its first pop says.'}
      </p>
      <Toggle label="Keep its start point" isOn={keepsStart} onInput={setKeepsStart} />
    </ConfirmByName>
  );
}
