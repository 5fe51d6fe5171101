/** Dead letters: why each was filed; one of them whole; replay of some or all; purge. */
import { useMemo, useState } from 'preact/hooks';
import { counted, formatInteger } from '../base/format.js';
import { reasonWords } from '../base/words.js';
import { type Column, DataTable } from '../components/data-table.js';
import { TextInput } from '../components/form.js';
import { Page } from '../components/page.js';
import { partitionColumn, queueColumn } from '../components/queue-column.js';
import { Loaded } from '../components/states.js';
import { Ago, Badge, Count, Name } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { setQuery, usePlace } from '../data/location.js';
import { usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { DeadLetterDetail } from './dead-letter-detail.js';
import { DeadLetterErrors } from './dead-letter-errors.js';
import { Pager, useOffset } from './pager.js';
import { PurgeDeadLetters } from './purge-dead-letters.js';
import { RedriveQueue } from './redrive-queue.js';
import { ReplayChosen } from './replay-chosen.js';

type Listed = Success<'GET /api/v1/dlq'>;
export type DeadLetter = Listed['messages'][number];

const PAGE_ROWS = 100;
const EVERY_MS = 5_000;

type Asked = 'replay' | 'redrive' | 'purge';

/** By id; those of other pages stay chosen. */
type Chosen = ReadonlyMap<string, DeadLetter>;

/** Chosen rows belong to the list that is shown: another filter chooses none. */
function useChosen(filter: string): readonly [Chosen, (chosen: Chosen) => void] {
  const [kept, setKept] = useState<{ readonly filter: string; readonly chosen: Chosen }>({
    filter,
    chosen: NONE_CHOSEN,
  });
  const choose = (chosen: Chosen) => setKept({ filter, chosen });
  return [kept.filter === filter ? kept.chosen : NONE_CHOSEN, choose];
}

const NONE_CHOSEN: Chosen = new Map();

const COLUMNS: readonly Column<DeadLetter>[] = [
  queueColumn(({ queue }) => queue),
  {
    key: 'failed',
    title: 'Filed',
    isMinor: true,
    value: ({ failedAt }) => failedAt,
    cell: ({ failedAt }) => <Ago at={failedAt} />,
  },
  {
    key: 'group',
    title: 'Group',
    isText: true,
    isMinor: true,
    value: ({ consumerGroup }) => consumerGroup,
    cell: ({ consumerGroup }) => <Name text={consumerGroup} />,
  },
  {
    key: 'reason',
    title: 'Reason',
    isText: true,
    isMinor: true,
    value: ({ deadLetterReason }) => deadLetterReason,
    cell: ({ deadLetterReason }) => <Badge>{reasonWords(deadLetterReason)}</Badge>,
  },
  {
    key: 'error',
    title: 'Error',
    isText: true,
    isLong: true,
    value: ({ errorMessage }) => errorMessage,
    cell: ({ errorMessage }) => (
      <Name text={errorMessage === '' ? '–' : errorMessage.slice(0, ERROR_CHARS)} />
    ),
  },
  {
    key: 'transaction',
    title: 'Transaction id',
    isText: true,
    isMinor: true,
    isId: true,
    value: ({ transactionId }) => transactionId,
    cell: ({ transactionId }) => <Name text={transactionId} />,
  },
  partitionColumn(({ partition }) => partition),
  {
    key: 'failures',
    title: 'Failures',
    isMinor: true,
    value: ({ retryCount }) => retryCount,
    cell: ({ retryCount }) => <Count of={retryCount} />,
  },
];

/** The part of an error that the table shows; an error may have 262,144 characters. */
const ERROR_CHARS = 500;

export function DeadLettersPage() {
  const { query } = usePlace();
  const { queueAdmin, clusterAdmin } = useCapabilities();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [queue, group] = [query.get('queue') ?? '', query.get('group') ?? ''];
  const [chosen, setChosen] = useChosen(`${queue}\n${group}`);
  const offset = useOffset();
  const poll = usePoll(
    ['dead letters', queue, group, offset].join('\n'),
    (signal) =>
      call('GET /api/v1/dlq', {
        query: { queue, consumerGroup: group, limit: PAGE_ROWS, offset },
        signal,
        keepStored: true,
      }),
    EVERY_MS,
    { isTyped: true },
  );
  const close = () => setAsked(null);
  const total = poll.isFormer === true ? 0 : (poll.data?.total ?? 0);
  const hasAll = queue !== '' && total > 0;
  const actions = <Actions hasAll={hasAll} chosen={chosen.size} onAsk={setAsked} />;
  return (
    <Page title="Dead letters" actions={queueAdmin || clusterAdmin ? actions : undefined}>
      <div>
        <Filters />
        <Loaded poll={poll} what="the dead letters">
          {(listed) => (
            <Listing listed={listed} chosen={queueAdmin ? chosen : null} onChoose={setChosen} />
          )}
        </Loaded>
      </div>
      {hasAll && <DeadLetterErrors queue={queue} />}
      {asked === 'replay' && (
        <ReplayChosen
          letters={[...chosen.values()]}
          onClose={close}
          onOver={() => {
            setChosen(NONE_CHOSEN);
            poll.refresh();
          }}
        />
      )}
      {asked === 'redrive' && (
        <RedriveQueue queue={queue} group={group} onClose={close} onOver={poll.refresh} />
      )}
      {asked === 'purge' && (
        <PurgeDeadLetters queue={queue} group={group} onClose={close} onOver={poll.refresh} />
      )}
    </Page>
  );
}

interface ActionsProps {
  /** A queue is chosen, and holds some. */
  readonly hasAll: boolean;
  readonly chosen: number;
  readonly onAsk: (asked: Asked) => void;
}

function Actions({ hasAll, chosen, onAsk }: ActionsProps) {
  const { queueAdmin, clusterAdmin } = useCapabilities();
  return (
    <>
      {clusterAdmin && (
        <button type="button" disabled={!hasAll} onClick={() => onAsk('purge')}>
          Purge…
        </button>
      )}
      {queueAdmin && (
        <>
          <button type="button" disabled={!hasAll} onClick={() => onAsk('redrive')}>
            Replay all of a queue…
          </button>
          <button
            type="button"
            class="primary"
            disabled={chosen === 0}
            onClick={() => onAsk('replay')}
          >
            {`Replay ${counted(chosen, 'chosen', 'chosen')}…`}
          </button>
        </>
      )}
    </>
  );
}

function Filters() {
  const { query } = usePlace();
  const queue = query.get('queue') ?? '';
  return (
    <div class="filters">
      <TextInput
        label="Queue"
        placeholder="Queue"
        value={queue}
        onInput={(text) => setQuery({ queue: text, offset: null })}
        isSearch
      />
      <TextInput
        label="Group"
        placeholder="Group"
        value={query.get('group') ?? ''}
        onInput={(text) => setQuery({ group: text, offset: null })}
      />
      {queue === '' && (
        <span class="quiet">Choose a queue to replay or purge all that it holds.</span>
      )}
    </div>
  );
}

interface ListingProps {
  readonly listed: Listed;
  /** null: nothing can be done with them. */
  readonly chosen: Chosen | null;
  readonly onChoose: (chosen: Chosen) => void;
}

function Listing({ listed, chosen, onChoose }: ListingProps) {
  const { query } = usePlace();
  const offset = useOffset();
  const letters = listed.messages;
  const [queue, group] = [query.get('queue'), query.get('group')];
  const columns = useMemo(() => {
    // Where they are of one, the column says nothing.
    const known = [queue ? 'queue' : '', group ? 'group' : ''];
    const shown = COLUMNS.filter(({ key }) => !known.includes(key));
    return chosen === null ? shown : [chooseColumn(chosen, onChoose), ...shown];
  }, [chosen, queue, group]);
  const id = query.get('letter');
  const opened = letters.find((letter) => letter.id === id);
  const all = new Map([...(chosen ?? []), ...letters.map((one) => [one.id, one] as const)]);
  return (
    <>
      <p class="table-note quiet" role="status">
        <span>{counted(listed.total, 'dead letter', 'dead letters')}</span>
        {chosen !== null && letters.length > 0 && (
          <>
            <button type="button" class="plain" onClick={() => onChoose(all)}>
              Choose this page
            </button>
            {chosen.size > 0 && (
              <button type="button" class="plain" onClick={() => onChoose(NONE_CHOSEN)}>
                Choose none of {formatInteger(chosen.size)}
              </button>
            )}
          </>
        )}
      </p>
      <DataTable
        caption="Dead letters"
        columns={columns}
        rows={letters}
        rowKey={(letter) => letter.id}
        onOpen={(letter) => setQuery({ letter: letter.id })}
        empty={
          queue || group
            ? 'No dead letter of this queue and group.'
            : 'No dead letter: nothing failed for the last time.'
        }
      />
      <Pager offset={offset} pageRows={PAGE_ROWS} count={letters.length} total={listed.total} />
      {id !== null && (
        <DeadLetterDetail letter={opened ?? null} onClose={() => setQuery({ letter: null })} />
      )}
    </>
  );
}

function chooseColumn(chosen: Chosen, onChoose: (chosen: Chosen) => void): Column<DeadLetter> {
  return {
    key: 'choose',
    title: 'Chosen',
    cell: (letter) => (
      <input
        type="checkbox"
        aria-label={`Choose ${letter.transactionId}`}
        checked={chosen.has(letter.id)}
        onInput={() => {
          const changed = new Map(chosen);
          if (!changed.delete(letter.id)) changed.set(letter.id, letter);
          onChoose(changed);
        }}
      />
    ),
  };
}
