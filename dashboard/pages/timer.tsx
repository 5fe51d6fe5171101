/** One timer with its payload; it can be cancelled while it waits. */
import { useState } from 'preact/hooks';
import { pathOfQueue } from '../base/routes.js';
import { timerPayload } from '../base/timer-payload.js';
import { ConfirmByName, Dialog } from '../components/dialog.js';
import { Link } from '../components/link.js';
import { Pairs } from '../components/page.js';
import { tell } from '../components/results.js';
import { Empty, Loaded } from '../components/states.js';
import { StoredValue } from '../components/stored-value.js';
import { Ago, Bytes, Count, Name, Time } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';

type Peeked = Success<'GET /api/v1/timers/{queue}/{timerKey...}'>;
type Timer = Extract<Peeked, { readonly found: true }>;

const AT = 'GET /api/v1/timers/{queue}/{timerKey...}';

interface OneTimerProps {
  readonly queue: string;
  readonly timerKey: string;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

export function OneTimer({ queue, timerKey, onClose, onChange }: OneTimerProps) {
  const params = { queue, timerKey };
  const poll = usePoll(
    `timer ${queue}\n${timerKey}`,
    (signal) => call(AT, { params, signal }),
    EVERY_MS_SLOW,
  );
  return (
    <Dialog title="One timer" onClose={onClose} isWide>
      <Loaded poll={poll} what="the timer">
        {(timer) =>
          timer.found ? (
            <Shown
              timer={timer}
              onCancelled={() => {
                onChange();
                onClose();
              }}
              onFired={poll.refresh}
            />
          ) : (
            <Empty>
              No timer <Name text={timerKey} /> waits: it has fired, or was cancelled. What it
              delivered is a message of <Link to={pathOfQueue(queue)}>its queue</Link>.
            </Empty>
          )
        }
      </Loaded>
    </Dialog>
  );
}

interface ShownProps {
  readonly timer: Timer;
  readonly onCancelled: () => void;
  readonly onFired: () => void;
}

function Shown({ timer, onCancelled, onFired }: ShownProps) {
  const { write } = useCapabilities();
  const [isAsked, setAsked] = useState(false);
  const { queue, timerKey, partition, deliverAt, txn, messageId, attempts, lastError } = timer;
  const { producerSub, encrypted, createdAt, updatedAt, payload } = timer;
  return (
    <div class="stack">
      <Pairs
        facts={[
          { label: 'Timer', value: <Name text={timerKey} /> },
          {
            label: 'Queue',
            value: (
              <Link to={pathOfQueue(queue)}>
                <Name text={queue} />
              </Link>
            ),
          },
          { label: 'Partition', value: <Name text={partition} /> },
          {
            label: 'Delivers',
            value: (
              <>
                <Ago at={deliverAt} />, <Time at={deliverAt} />
              </>
            ),
          },
          { label: 'Transaction id', value: <Name text={txn} /> },
          { label: 'Message id', value: messageId },
          ...(producerSub === null
            ? []
            : [{ label: 'Producer', value: <Name text={producerSub} /> }]),
          { label: 'Scheduled', value: <Time at={createdAt} /> },
          ...(updatedAt === createdAt
            ? []
            : [{ label: 'Rescheduled', value: <Time at={updatedAt} /> }]),
          ...(attempts === 0 && lastError === null
            ? []
            : [
                { label: 'Failed attempts', value: <Count of={attempts} isBad /> },
                { label: 'Last error', value: <Name text={lastError ?? '–'} /> },
              ]),
        ]}
      />
      <Payload base64={payload} isEncrypted={encrypted} />
      {write && (
        <div class="dialog-foot">
          <button type="button" onClick={() => setAsked(true)}>
            Cancel the timer…
          </button>
        </div>
      )}
      {isAsked && (
        <CancelTimer
          timer={timer}
          onClose={() => setAsked(false)}
          onCancelled={onCancelled}
          onFired={onFired}
        />
      )}
    </div>
  );
}

interface PayloadProps {
  readonly base64: string;
  readonly isEncrypted: boolean;
}

function Payload({ base64, isEncrypted }: PayloadProps) {
  const { bytes, json, text } = timerPayload(base64);
  const size = <Bytes of={bytes} />;
  if (isEncrypted) return <p class="quiet">The payload is stored encrypted: {size}.</p>;
  if (json !== null) return <StoredValue value={json} label="Payload" />;
  return (
    <div class="stack">
      <p class="quiet">The payload is no JSON: {size}. Its message carries it in base64.</p>
      <textarea class="raw" readOnly rows={6} value={text} aria-label="Payload as stored" />
    </div>
  );
}

interface CancelTimerProps {
  readonly timer: Timer;
  readonly onClose: () => void;
  readonly onCancelled: () => void;
  readonly onFired: () => void;
}

function CancelTimer({ timer, onClose, onCancelled, onFired }: CancelTimerProps) {
  const { queue, timerKey, deliverAt } = timer;
  const cancel = useAction(async () => {
    const at = 'DELETE /api/v1/timers/{queue}/{timerKey...}';
    const { status } = await call(at, { params: { queue, timerKey } });
    if (status === 'absent') {
      onFired();
      tell(
        <>
          Not cancelled: <Name text={timerKey} /> waits no more, it may have fired
        </>,
        'wait',
      );
      onClose();
      return;
    }
    tell(
      <>
        Cancelled <Name text={timerKey} />
      </>,
    );
    onCancelled();
  });
  return (
    <ConfirmByName
      title="Cancel a timer"
      action="Cancel the timer"
      dismissal="Keep it"
      onConfirm={() => void cancel.run()}
      onClose={onClose}
      isBusy={cancel.isBusy}
      error={cancel.error}
    >
      <p>
        The message that <Name text={timerKey} /> would bring to <Name text={queue} />{' '}
        <Ago at={deliverAt} /> never comes, and its payload is gone.
      </p>
    </ConfirmByName>
  );
}
