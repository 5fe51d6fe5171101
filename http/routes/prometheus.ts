/**
 * GET /metrics/prometheus (inspection 9): what this node counts, as exposition text. Every family
 * describes the node that answers, and counts from its start.
 */
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';

export const prometheusRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/metrics/prometheus',
  level: 'public',
  head: true,
  scoped: false,
  handle,
};

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** By the label `kind`; one without it has the key "". null: unknown, left out. */
  readonly samples: Readonly<Record<string, number | null>>;
}

function handle(front: Front, request: RouteRequest): void {
  const text = [...processFamilies(front), ...raftFamilies(front)].map(render).join('');
  request.exchange.document(CONTENT_TYPE, Buffer.from(text, 'utf8'), 'no-cache');
}

function processFamilies({ counters }: Front): Family[] {
  const counted = (['push', 'pop', 'ack'] as const).flatMap((call): Family[] => [
    counter(`svc_process_${call}_requests_total`, `${call} calls`, counters[`${call}Requests`]),
    counter(`svc_process_${call}_messages_total`, `${call} messages`, counters[`${call}Messages`]),
  ]);
  return [
    gauge('svc_uptime_seconds', 'age of the process', { '': Math.floor(process.uptime()) }),
    gauge('svc_process_resident_memory_bytes', 'resident memory', {
      '': process.memoryUsage.rss(),
    }),
    ...counted,
  ];
}

function raftFamilies({ service }: Front): Family[] {
  const { lastLogIndex, committedIndex, appliedIndex, durableIndex, inflight, log } =
    service.raftStatus();
  const { storageFull, admission } = service.pressure();
  return [
    gauge('svc_raft_index', 'log indexes of this node', {
      log: lastLogIndex,
      committed: committedIndex,
      applied: appliedIndex,
      durable: durableIndex,
    }),
    gauge('svc_raft_inflight', 'entries proposed here and not applied', { '': inflight }),
    gauge('svc_raft_log_storage', 'files and bytes of the log', {
      files: log.files,
      bytes: log.bytes,
    }),
    gauge('svc_raft_storage_full', '1 while the volume of this node is too full to grow', {
      '': storageFull ? 1 : 0,
    }),
    gauge('svc_raft_admit_bytes', 'bytes of writes that may wait, and that do', {
      cap: admission.bytesMax,
      held: admission.bytes,
    }),
    gauge('svc_raft_admit_waiting', 'writes that wait for room', { '': admission.waiting }),
  ];
}

function counter(name: string, help: string, value: number): Family {
  return { name, type: 'counter', help, samples: { '': value } };
}

function gauge(name: string, help: string, samples: Family['samples']): Family {
  return { name, type: 'gauge', help, samples };
}

function render({ name, type, help, samples }: Family): string {
  const lines = Object.entries(samples).map(([kind, value]) => {
    const labels = kind === '' ? '' : `{kind="${kind}"}`;
    return value === null ? '' : `${name}${labels} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}
