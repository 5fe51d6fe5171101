/** Traces of a message, the oldest first, each with the time since the one before. */
import { counted, formatMs } from '../base/format.js';
import { millisOf } from '../base/moment.js';
import { withQuery } from '../base/routes.js';
import { JsonTree, textOfStored } from '../components/json-tree.js';
import { Link } from '../components/link.js';
import { Empty, Loaded } from '../components/states.js';
import { Name, Time } from '../components/text.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';

const AT = 'GET /api/v1/traces/{partitionId}/{transactionId}';
const TRACES_MAX = 200;

export type Trace = Success<typeof AT>['traces'][number];

interface MessageTracesProps {
  readonly partitionId: string;
  readonly transactionId: string;
}

export function MessageTraces(params: MessageTracesProps) {
  const poll = usePoll(
    `traces ${params.partitionId}\n${params.transactionId}`,
    (signal) => call(AT, { params, query: { limit: TRACES_MAX }, signal, keepStored: true }),
    EVERY_MS_SLOW,
  );
  return (
    <Loaded poll={poll} what="the traces">
      {({ traces, total }) =>
        traces.length === 0 ? (
          <Empty>No consumer has noted anything about it, or what it noted has expired.</Empty>
        ) : (
          <>
            {total > traces.length && (
              <p class="quiet">
                The newest {traces.length} of {counted(total, 'event', 'events')}.
              </p>
            )}
            <TraceTimeline traces={traces} />
          </>
        )
      }
    </Loaded>
  );
}

/** `traces`: the newest first, as the API has them. */
export function TraceTimeline({ traces }: { readonly traces: readonly Trace[] }) {
  const oldestFirst = [...traces].reverse();
  return (
    <ol class="timeline">
      {oldestFirst.map((trace, i) => (
        <Event
          key={`${trace.traceId} ${trace.createdAt} ${i}`}
          trace={trace}
          before={oldestFirst[i - 1] ?? null}
        />
      ))}
    </ol>
  );
}

function Event({ trace, before }: { readonly trace: Trace; readonly before: Trace | null }) {
  const { eventType, createdAt, consumerGroup, worker, names, data, dataAvailable } = trace;
  return (
    <li>
      <div class="timeline-head">
        <b>
          <Name text={eventType} />
        </b>
        <Time at={createdAt} />
        {before !== null && (
          <span class="since quiet">{sinceText(before.createdAt, createdAt)}</span>
        )}
      </div>
      <div class="timeline-about">
        {consumerGroup !== null && (
          <span>
            <span class="quiet">group</span> <Name text={consumerGroup} />
          </span>
        )}
        {worker !== null && (
          <span>
            <span class="quiet">worker</span> <Name text={worker} />
          </span>
        )}
        {names.map((name) => (
          <Link key={name} to={withQuery('/traces', { name })}>
            <Name text={name} />
          </Link>
        ))}
      </div>
      {dataAvailable === false && <p class="quiet">Its data found no room in the answer.</p>}
      {textOfStored(data) !== 'null' && <JsonTree value={data} label={`Data of ${eventType}`} />}
    </li>
  );
}

function sinceText(before: string, at: string): string {
  return `+${formatMs(Math.max((millisOf(at) ?? 0) - (millisOf(before) ?? 0), 0))}`;
}
