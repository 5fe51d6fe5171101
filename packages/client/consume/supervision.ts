/**
 * The report of a consuming process: every 10 s two rows of key/value that live for 60 s, a
 * document in one and its length and stamp in the other. The dashboard shows them. A row that could
 * not be written is written by the next turn.
 */
import { base64 } from '../base/base64.js';
import { misuse, refuseUnknown } from '../base/checks.js';
import { mintId } from '../base/mint-id.js';
import { NODE } from '../base/platform.js';
import type { Transport } from '../transport/transport.js';
import type { ConsumeTerms } from './consume-terms.js';

export interface SupervisionOptions {
  /** Under which the processes of a kind are shown together. */
  readonly group: string;
}

const NAMESPACE = 'svc-supervisor';
const EVERY_MS = 10_000;
const TTL_SECONDS = 60;
const GROUP = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/;
const CONCURRENCY_MAX = 4096;

export interface Busy {
  readonly desired: number;
  readonly running: number;
  readonly busy: number;
  readonly completed: number;
  readonly failed: number;
  readonly lastCompletedMs: number | null;
  readonly oldestInflightMs: number | null;
}

export function checkSupervision(options: SupervisionOptions, concurrency: number): void {
  refuseUnknown(options, 'group', 'supervision');
  const { group } = options;
  if (typeof group !== 'string' || !GROUP.test(group) || group === 'coordination') {
    const form = 'letters, digits, dots, dashes and underlines, 255 at most, not "coordination"';
    throw misuse('supervision.group', group, form);
  }
  if (concurrency <= CONCURRENCY_MAX) return;
  const text = `concurrency is ${concurrency}, of which supervision shows ${CONCURRENCY_MAX}`;
  throw new TypeError(`${text}: write less, or leave supervision out`);
}

export class Supervision {
  readonly #transport: Transport;
  readonly #terms: ConsumeTerms;
  readonly #group: string;
  readonly #busy: () => Busy;
  readonly #id: string;
  readonly #startedMs: number;
  #cancel: () => void = () => undefined;

  constructor(
    transport: Transport,
    terms: ConsumeTerms,
    { group }: SupervisionOptions,
    busy: () => Busy,
  ) {
    this.#transport = transport;
    this.#terms = terms;
    this.#group = group;
    this.#busy = busy;
    this.#startedMs = transport.platform.nowMs();
    this.#id = mintId(this.#startedMs);
    void this.#turn();
  }

  /** Writes once more, that the process stopped. */
  async stop(): Promise<void> {
    this.#cancel();
    await this.#write('stopped');
  }

  async #turn(): Promise<void> {
    this.#cancel = this.#transport.platform.after(EVERY_MS, () => void this.#turn());
    await this.#write('running');
  }

  async #write(state: 'running' | 'stopped'): Promise<void> {
    const data = base64(JSON.stringify(this.#document(state)));
    const write = mintId(this.#transport.platform.nowMs());
    const under = `${this.#group}/${this.#id}`;
    const format = 'svc.supervisor.remote-status/v1';
    const head = {
      format,
      write,
      chunks: 1,
      bytes: (data.length / 4) * 3 - (data.match(/=/g)?.length ?? 0),
    };
    const chunk = { write, index: 0, data };
    const operations = [
      { op: 'put', ns: NAMESPACE, key: `${under}/head`, value: head, ttlSeconds: TTL_SECONDS },
      {
        op: 'put',
        ns: NAMESPACE,
        key: `${under}/chunk/0000`,
        value: chunk,
        ttlSeconds: TTL_SECONDS,
      },
    ];
    try {
      await this.#transport.call({
        method: 'POST',
        path: '/api/v1/kv',
        body: JSON.stringify({ operations }),
        repeat: 'any',
      });
    } catch (error) {
      this.#transport.settings.logger.warn('supervision was not written', { error: String(error) });
    }
  }

  #document(state: string): object {
    const nowMs = this.#transport.platform.nowMs();
    const { queue, namespace, task, group } = this.#terms.pop;
    const { desired, running, busy, completed, failed, ...times } = this.#busy();
    const pool = {
      name: queue ?? namespace ?? task ?? '',
      queue: queue ?? '',
      namespace: namespace ?? '',
      task: task ?? '',
      consumer_group: group ?? '__QUEUE_MODE__',
      desired,
      running,
      busy,
      completed,
      failed,
      last_completed_at_epoch: secondsOrNull(times.lastCompletedMs),
      oldest_inflight_seconds:
        times.oldestInflightMs === null ? null : (nowMs - times.oldestInflightMs) / 1000,
    };
    return {
      schema: 'svc.consumer.status/v1',
      instance_id: this.#id,
      engine: 'js',
      execution_model: 'async-tasks',
      hostname: NODE?.getBuiltinModule?.('node:os').hostname() ?? NODE?.env?.HOSTNAME ?? '',
      pid: NODE?.pid ?? 0,
      state,
      updated_at_epoch: nowMs / 1000,
      started_at_epoch: this.#startedMs / 1000,
      uptime_seconds: (nowMs - this.#startedMs) / 1000,
      configuration: { heartbeat_timeout: 30 },
      pool_status: [pool],
    };
  }
}

function secondsOrNull(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
