/**
 * Jumps to one message by its id or its transaction id.
 *
 * The API reads a message by partition and transaction id alone. A message id names its partition,
 * its offset and its minute, so the message is found there. A transaction id names nothing: the
 * partitions of the chosen queue are asked one after the other, up to a bound, and it is said how
 * many were.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { CallError } from '../base/call-error.js';
import { placeOfMessage } from '../base/message-id.js';
import { Refusal } from '../components/dialog.js';
import { TextInput } from '../components/form.js';
import { setQuery, usePlace } from '../data/location.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface Address {
  readonly pid: string;
  readonly txn: string;
}

interface Wanted {
  readonly id: string;
  readonly queue: string;
  readonly partition: string;
}

const PARTITIONS_MAX = 1000;
const AT_ONCE = 6;
const MINUTE_ROWS = 1000;
const MINUTE_PAGES_MAX = 20;

export function FindMessage() {
  const { query } = usePlace();
  const [id, setId] = useState('');
  const [queue, partition] = [query.get('queue') ?? '', query.get('partition') ?? ''];
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const search = useAction(async () => {
    const { pid, txn } = await find({ id, queue, partition }, leaving.current.signal);
    setQuery({ pid, txn });
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (id !== '') void search.run();
  };
  return (
    <form onSubmit={submit}>
      <div class="filters">
        <TextInput
          label="Message id or transaction id"
          placeholder="Message id or transaction id"
          value={id}
          onInput={setId}
        />
        <button type="submit" disabled={id === '' || search.isBusy}>
          {search.isBusy ? 'Looking…' : 'Open'}
        </button>
      </div>
      <Refusal error={search.error} />
    </form>
  );
}

/** Rejects where there is none. */
async function find({ id, queue, partition }: Wanted, signal: AbortSignal): Promise<Address> {
  const place = placeOfMessage(id);
  if (place !== null) {
    const byNumber = { pid: String(place.partition), txn: id.trim() };
    if (await isThere(byNumber, signal)) return byNumber;
    const found = await findByTime({ id: id.trim().toLowerCase(), queue, ms: place.ms }, signal);
    if (found !== null) return found;
  }
  if (queue === '') {
    throw new CallError(
      'refused',
      place === null
        ? 'A transaction id is looked for in one queue: choose that first.'
        : 'No stored message has this id.',
    );
  }
  return findInQueue({ id, queue, partition }, signal);
}

/** Among the messages that were pushed in the minute that the id names. */
async function findByTime(
  { id, queue, ms }: { readonly id: string; readonly queue: string; readonly ms: number },
  signal: AbortSignal,
): Promise<Address | null> {
  const at = new Date(ms).toISOString();
  for (let page = 0; page < MINUTE_PAGES_MAX; page++) {
    const offset = page * MINUTE_ROWS;
    const query = { queue, from: at, to: at, limit: MINUTE_ROWS, offset };
    const { messages } = await call('GET /api/v1/messages', { query, signal });
    const found = messages.find((message) => message.id === id);
    if (found !== undefined) return { pid: found.partitionId, txn: found.transactionId };
    if (messages.length < MINUTE_ROWS) return null;
  }
  return null;
}

async function findInQueue(
  { id: txn, queue, partition }: Wanted,
  signal: AbortSignal,
): Promise<Address> {
  const query = { queue, limit: PARTITIONS_MAX };
  const { partitions, walked } = await call('GET /api/v1/resources/partitions', {
    query,
    signal,
  });
  const asked = partitions.filter((one) => partition === '' || one.partition === partition);
  for (let from = 0; from < asked.length; from += AT_ONCE) {
    const tries = asked.slice(from, from + AT_ONCE).map(({ id }) => ({ pid: id, txn }));
    const found = await Promise.all(tries.map((one) => isThere(one, signal)));
    const address = tries[found.indexOf(true)];
    if (address !== undefined) return address;
  }
  const all = asked.length < walked && partition === '' ? `${asked.length} of ${walked} ` : '';
  throw new CallError(
    'refused',
    all === ''
      ? 'No stored message of the queue has this id.'
      : `Not found in the ${all}partitions that hold most. Name the partition.`,
  );
}

async function isThere({ pid, txn }: Address, signal: AbortSignal): Promise<boolean> {
  const params = { partitionId: pid, transactionId: txn };
  try {
    await call('GET /api/v1/messages/{partitionId}/{transactionId}', { params, signal });
    return true;
  } catch (error) {
    if (error instanceof CallError && error.status === 404) return false;
    throw error;
  }
}
