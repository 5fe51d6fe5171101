/** Replays the chosen dead letters, a few at once, and says of each what became of it. */
import { useRef, useState } from 'preact/hooks';
import { reasonOf } from '../base/call-error.js';
import { counted } from '../base/format.js';
import { Dialog } from '../components/dialog.js';
import { Field, TextInput } from '../components/form.js';
import { type Result, ResultList } from '../components/results.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';
import type { DeadLetter } from './dead-letters.js';

interface ReplayChosenProps {
  readonly letters: readonly DeadLetter[];
  readonly onClose: () => void;
  /** All were tried, or it was stopped. */
  readonly onOver: () => void;
}

const AT_ONCE = 4;

export function ReplayChosen({ letters: given, onClose, onOver }: ReplayChosenProps) {
  // Those that were chosen when it was opened: what is replayed leaves the list behind.
  const [letters] = useState(given);
  const [target, setTarget] = useState<Target>({ queue: '', partition: '' });
  const [results, setResults] = useState<readonly Result[]>([]);
  const isStopped = useRef(false);
  const replay = useAction(async () => {
    const waiting = [...letters];
    const work = async () => {
      for (let next = waiting.shift(); next && !isStopped.current; next = waiting.shift()) {
        const result = await replayOne(next, target);
        setResults((all) => [...all, result]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    onOver();
  });
  const hasBegun = replay.isBusy || results.length > 0;
  const close = () => {
    isStopped.current = true;
    onClose();
  };
  return (
    <Dialog title="Replay chosen dead letters" onClose={close} isWide>
      {hasBegun ? (
        <div class="stack">
          <ResultList
            results={results}
            total={letters.length}
            isBusy={replay.isBusy}
            onStop={() => {
              isStopped.current = true;
            }}
          />
          <div class="dialog-foot">
            <button type="button" onClick={close}>
              Close
            </button>
          </div>
        </div>
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void replay.run();
          }}
        >
          <p>
            Pushes {counted(letters.length, 'payload', 'payloads')} again, each as a new message at
            the end of its partition, and removes its dead letter in the same step. Every group of
            the queue gets the new message. One that was replayed before is not stored twice.
          </p>
          <TargetFields target={target} onInput={setTarget} />
          <div class="dialog-foot">
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button type="submit" class="primary">
              {`Replay ${counted(letters.length, 'dead letter', 'dead letters')}`}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

interface Target {
  readonly queue: string;
  readonly partition: string;
}

interface TargetFieldsProps {
  readonly target: Target;
  readonly onInput: (target: Target) => void;
}

function TargetFields({ target, onInput }: TargetFieldsProps) {
  const field = (name: keyof Target, label: string) => (
    <Field label={label} note="Its own where nothing is said.">
      {(id) => (
        <TextInput
          id={id}
          value={target[name]}
          onInput={(text) => onInput({ ...target, [name]: text })}
        />
      )}
    </Field>
  );
  return (
    <div class="fields">
      {field('queue', 'To another queue')}
      {field('partition', 'To another partition')}
    </div>
  );
}

/** Never rejects. */
async function replayOne(
  { id, transactionId, consumerGroup }: DeadLetter,
  target: Target,
): Promise<Result> {
  const name = `${transactionId} (${consumerGroup})`;
  const said = Object.entries(target).filter(([, text]) => text.trim() !== '');
  try {
    const answer = await call('POST /api/v1/dlq/{id}/replay', {
      params: { id },
      body: Object.fromEntries(said),
    });
    const { result, queue, partition } = answer;
    if (result === 'moved') return { name, tone: 'good', text: `moved to ${queue}, ${partition}` };
    return { name, tone: 'wait', text: 'was there already; the dead letter stays' };
  } catch (error) {
    return { name, tone: 'bad', text: reasonOf(error) };
  }
}
