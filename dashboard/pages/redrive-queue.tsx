/**
 * Replays all dead letters of a queue, or of one group of it, oldest first: a slice in each call,
 * until the node says that no more follows. What is filed after the first call is not part of it.
 */
import { useRef, useState } from 'preact/hooks';
import { counted, formatInteger } from '../base/format.js';
import { Dialog, Refusal } from '../components/dialog.js';
import { Field, TextInput } from '../components/form.js';
import { Facts } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Name } from '../components/text.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface RedriveQueueProps {
  readonly queue: string;
  /** "": all. */
  readonly group: string;
  readonly onClose: () => void;
  readonly onOver: () => void;
}

interface Progress {
  readonly moved: number;
  readonly duplicates: number;
  readonly refused: number;
  readonly slices: number;
  /** null: none was answered yet, or nothing follows. */
  readonly cursor: string | null;
  readonly isOver: boolean;
}

const NOTHING: Progress = {
  moved: 0,
  duplicates: 0,
  refused: 0,
  slices: 0,
  cursor: null,
  isOver: false,
};
/** The reader sees it move, and a stop comes soon. */
const SLICE = 100;

export function RedriveQueue({ queue, group, onClose, onOver }: RedriveQueueProps) {
  const [span, setSpan] = useState<Span>({ from: '', to: '' });
  const [total, setTotal] = useState<number | null>(null);
  const [progress, setProgress] = useState(NOTHING);
  const isStopped = useRef(false);
  const redrive = useAction(async () => {
    isStopped.current = false;
    let last = progress;
    try {
      while (!last.isOver && !isStopped.current) {
        last = await nextSlice({ queue, group, ...span }, last);
        setProgress(last);
      }
    } finally {
      onOver();
    }
  });
  const stop = () => {
    isStopped.current = true;
  };
  const hasBegun = redrive.isBusy || progress.slices > 0 || redrive.error !== null;
  const close = () => {
    stop();
    onClose();
  };
  return (
    <Dialog title="Replay all of a queue" onClose={close} isWide>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void redrive.run();
        }}
      >
        <Numbers queue={queue} group={group} onTotal={setTotal} isLive={!hasBegun} />
        {hasBegun ? (
          <Shown progress={progress} total={total} isBusy={redrive.isBusy} />
        ) : (
          <SpanFields span={span} onInput={setSpan} />
        )}
        <Refusal error={redrive.error} />
        <div class="dialog-foot">
          {redrive.isBusy ? (
            <button type="button" onClick={stop}>
              Stop
            </button>
          ) : (
            <button type="button" onClick={close}>
              {hasBegun ? 'Close' : 'Cancel'}
            </button>
          )}
          {!progress.isOver && (
            <button type="submit" class="primary" disabled={redrive.isBusy}>
              {hasBegun ? 'Go on' : 'Replay all'}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

interface Span {
  readonly from: string;
  readonly to: string;
}

interface SpanFieldsProps {
  readonly span: Span;
  readonly onInput: (span: Span) => void;
}

/** When they were filed. */
function SpanFields({ span, onInput }: SpanFieldsProps) {
  const field = (name: 'from' | 'to', label: string, note: string) => (
    <Field label={label} note={note}>
      {(id) => (
        <TextInput
          id={id}
          type="datetime-local"
          value={span[name]}
          onInput={(text) => onInput({ ...span, [name]: text })}
        />
      )}
    </Field>
  );
  return (
    <div class="fields">
      {field('from', 'Filed from', 'The first one where nothing is said.')}
      {field('to', 'Filed before', 'Now where nothing is said.')}
    </div>
  );
}

interface NumbersProps {
  readonly queue: string;
  readonly group: string;
  readonly onTotal: (total: number) => void;
  /** Before it has begun. */
  readonly isLive: boolean;
}

function Numbers({ queue, group, onTotal, isLive }: NumbersProps) {
  const poll = usePoll(
    isLive ? `to redrive ${queue}\n${group}` : null,
    async (signal) => {
      const query = { queue, consumerGroup: group, limit: 1 };
      const { total } = await call('GET /api/v1/dlq', { query, signal });
      onTotal(total);
      return total;
    },
    EVERY_MS_SLOW,
  );
  if (!isLive) return null;
  return (
    <Loaded poll={poll} what="their number">
      {(count) => (
        <p>
          Pushes {counted(count, 'payload', 'payloads')} of <Name text={queue} />
          {group !== '' && (
            <>
              , group <Name text={group} />,
            </>
          )}{' '}
          again, oldest first, each as a new message at the end of its partition, and removes its
          dead letter in the same step. Every group of the queue gets the new messages.
        </p>
      )}
    </Loaded>
  );
}

interface ShownProps {
  readonly progress: Progress;
  readonly total: number | null;
  readonly isBusy: boolean;
}

function Shown({ progress, total, isBusy }: ShownProps) {
  const { moved, duplicates, refused, isOver } = progress;
  const tried = moved + duplicates + refused;
  const whole = Math.max(total ?? 0, tried, 1);
  return (
    <div class="results">
      <label class="progress">
        <progress max={whole} value={isOver ? whole : tried} />
        <span role="status">
          {`${formatInteger(tried)} of ${formatInteger(total)} tried`}
          {isOver ? ', over' : isBusy ? '' : ', stopped'}
        </span>
      </label>
      <Facts
        facts={[
          {
            label: 'Moved',
            value: formatInteger(moved),
            note: 'pushed again, no dead letter left',
          },
          {
            label: 'There already',
            value: formatInteger(duplicates),
            note: 'replayed before; the dead letters stay',
          },
          {
            label: 'Refused',
            value: formatInteger(refused),
            note: 'too long, or too many names; they stay',
            tone: refused > 0 ? 'bad' : undefined,
          },
        ]}
      />
    </div>
  );
}

interface Asked extends Span {
  readonly queue: string;
  readonly group: string;
}

async function nextSlice({ queue, group, from, to }: Asked, last: Progress): Promise<Progress> {
  const body = {
    queue,
    consumerGroup: group === '' ? null : group,
    from: isoOf(from),
    to: isoOf(to),
    limit: SLICE,
    cursor: last.cursor,
  };
  const { moved, duplicates, refused, cursor } = await call('POST /api/v1/dlq/redrive', { body });
  return {
    moved: last.moved + moved,
    duplicates: last.duplicates + duplicates,
    refused: last.refused + refused,
    slices: last.slices + 1,
    cursor,
    isOver: cursor === null,
  };
}

function isoOf(local: string): string | null {
  return local === '' ? null : new Date(local).toISOString();
}
