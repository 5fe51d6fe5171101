/** What the errors of a queue's dead letters have in common. */
import { formatInteger, formatPercent } from '../base/format.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Section } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Count, Name } from '../components/text.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';

type Signature = Success<'GET /api/v1/analytics/dlq-signatures'>['signatures'][number];

const SAMPLE = 1000;

const COLUMNS: readonly Column<Signature>[] = [
  {
    key: 'error',
    title: 'Error',
    isLong: true,
    cell: ({ text }) => <Name text={text === '' ? '–' : text} />,
  },
  { key: 'count', title: 'Dead letters', value: ({ n }) => n, cell: ({ n }) => <Count of={n} /> },
  { key: 'share', title: 'Share', cell: ({ share }) => formatPercent(share * 100) },
];

export function DeadLetterErrors({ queue }: { readonly queue: string }) {
  const poll = usePoll(
    `dead letter errors ${queue}`,
    (signal) =>
      call('GET /api/v1/analytics/dlq-signatures', { query: { queue, limit: SAMPLE }, signal }),
    EVERY_MS_SLOW,
  );
  const of = poll.data && `of the newest ${formatInteger(poll.data.sample)}`;
  return (
    <Section title="Errors alike" note={of}>
      <Loaded poll={poll} what="the errors">
        {({ signatures }) => (
          <DataTable
            caption="Errors alike"
            columns={COLUMNS}
            rows={signatures}
            rowKey={({ text }) => text}
          />
        )}
      </Loaded>
    </Section>
  );
}
