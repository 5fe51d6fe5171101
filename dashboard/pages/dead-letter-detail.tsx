import { pathOfQueue, withQuery } from '../base/routes.js';
import { reasonWords } from '../base/words.js';
import { Dialog } from '../components/dialog.js';
import { Link } from '../components/link.js';
import { Pairs, Section } from '../components/page.js';
import { Payload } from '../components/payload.js';
import { Empty } from '../components/states.js';
import { Count, Name, Time } from '../components/text.js';
import type { DeadLetter } from './dead-letters.js';

interface DeadLetterDetailProps {
  /** null: it is not on this page of the list. */
  readonly letter: DeadLetter | null;
  readonly onClose: () => void;
}

export function DeadLetterDetail({ letter, onClose }: DeadLetterDetailProps) {
  return (
    <Dialog title="One dead letter" onClose={onClose} isWide>
      {letter === null ? (
        <Empty>It is not on this page: it was replayed or purged, or is further back.</Empty>
      ) : (
        <About letter={letter} />
      )}
    </Dialog>
  );
}

function About({ letter }: { readonly letter: DeadLetter }) {
  const { queue, partition, partitionId, consumerGroup, transactionId, offset } = letter;
  const message = withQuery('/messages', { queue, pid: partitionId, txn: transactionId });
  return (
    <div class="stack">
      <Pairs
        facts={[
          {
            label: 'Queue',
            value: (
              <Link to={pathOfQueue(queue)}>
                <Name text={queue} />
              </Link>
            ),
          },
          { label: 'Partition', value: partition === null ? 'gone' : <Name text={partition} /> },
          {
            label: 'Group',
            value: (
              <Link to={withQuery('/consumers', { group: consumerGroup })}>
                <Name text={consumerGroup} />
              </Link>
            ),
          },
          { label: 'Offset', value: offset < 0 ? 'none: of a timer' : <Count of={offset} /> },
          {
            label: 'Message',
            value:
              offset < 0 ? (
                <Name text={transactionId} />
              ) : (
                <Link to={message}>
                  <Name text={transactionId} />
                </Link>
              ),
          },
          { label: 'Filed', value: <Time at={letter.failedAt} /> },
          { label: 'Reason', value: reasonWords(letter.deadLetterReason) },
          { label: 'Failures', value: <Count of={letter.retryCount} /> },
        ]}
      />
      <Section title="Error">
        <pre class="error-text" dir="auto">
          {letter.errorMessage === '' ? 'none was said' : letter.errorMessage}
        </pre>
      </Section>
      {letter.payloadAvailable === false ? (
        <Empty>The payload found no room in the answer. A shorter page shows it.</Empty>
      ) : (
        <Payload value={letter.payload} />
      )}
    </div>
  );
}
