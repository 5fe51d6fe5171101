/**
 * A broker in memory, as far as streams use it: pops with leases, the stream routes, depth. It is
 * as strict as the real one where exactness depends on it: a cycle is fenced by its lease and
 * applied whole or not at all, a partial acknowledgement moves by its count each time it is carried
 * out, and a known transaction id refuses the whole.
 */

import { mintId } from '../base/mint-id.js';
import {
  type FakePlatform,
  type FakeRequest,
  lostConnection,
  type Reply,
} from '../base/platform.fake.js';

interface Stored {
  readonly payload: unknown;
  readonly atMs: number;
}

interface Cursor {
  next: number;
  attempt: number;
  lease: { readonly id: string; readonly end: number; untilMs: number } | null;
}

export interface Partition {
  readonly id: string;
  readonly name: string;
  readonly messages: Stored[];
  readonly ids: Set<string>;
  readonly cursors: Map<string, Cursor>;
  readonly state: Map<string, unknown>;
}

export interface CycleBody {
  readonly partition_id: string;
  readonly consumer_group: string;
  readonly ack: {
    readonly leaseId: string;
    readonly status: string;
    readonly count?: number;
  } | null;
  readonly release_lease?: boolean;
  readonly state_ops?: readonly { type: string; key: string; value: unknown }[];
  readonly push_items?: readonly {
    queue: string;
    partition: string;
    payload: unknown;
    transactionId?: string;
  }[];
}

/** What becomes of a cycle: its answer is lost, or the request itself. */
export type Fault = 'none' | 'answer' | 'request';

const LEASE_MS = 5000;

export class StreamServer {
  platform: FakePlatform | null = null;
  /** The clock of the broker is so much before that of its clients. */
  skewMs = 0;
  itemsMax = 50_000;
  fault: (cycle: CycleBody) => Fault = () => 'none';
  /** Called before a request about a partition is answered. */
  delay: (route: string, partitionId: string) => Promise<void> | undefined = () => undefined;
  readonly cycles: CycleBody[] = [];
  /** Requests about a partition that are being answered; and the most of one partition. */
  readonly #open = new Map<string, number>();
  openMax = 0;
  #hash = '';
  #ids = 0;
  #lastMs = 0;
  readonly #queues = new Map<string, Map<string, Partition>>();

  get nowMs(): number {
    this.#lastMs = Math.max(this.#lastMs, (this.platform?.nowMs() ?? 0) + this.skewMs);
    return this.#lastMs;
  }

  partition(queue: string, name: string): Partition {
    const partitions = this.#queues.get(queue) ?? new Map<string, Partition>();
    this.#queues.set(queue, partitions);
    const known = partitions.get(name);
    if (known !== undefined) return known;
    const id = String(++this.#ids);
    const fresh = { messages: [], ids: new Set<string>(), cursors: new Map(), state: new Map() };
    const made = { id, name, ...fresh };
    partitions.set(name, made);
    return made;
  }

  drop(queue: string): void {
    this.#queues.delete(queue);
  }

  push(queue: string, partition: string, ...payloads: readonly unknown[]): void {
    const { messages } = this.partition(queue, partition);
    for (const payload of payloads) messages.push({ payload, atMs: this.nowMs });
  }

  /** The payloads of a queue, partition by partition. */
  payloads<Payload>(queue: string): Payload[] {
    const partitions = [...(this.#queues.get(queue)?.values() ?? [])];
    return partitions.flatMap(({ messages }) => messages.map(({ payload }) => payload as Payload));
  }

  stateRows(queue: string): [string, unknown][] {
    const partitions = [...(this.#queues.get(queue)?.values() ?? [])];
    return partitions.flatMap(({ state }) => [...state]);
  }

  /** Messages of a queue that the group has not acknowledged. */
  pending(queue: string, group: string): number {
    const partitions = [...(this.#queues.get(queue)?.values() ?? [])];
    return partitions.reduce(
      (sum, one) => sum + one.messages.length - cursorOf(one, group).next,
      0,
    );
  }

  readonly answer = async ({ path, body }: FakeRequest): Promise<Reply> => {
    const url = new URL(path, 'http://a');
    const given = JSON.parse(body ?? '{}') as Record<string, unknown>;
    const [, , , what, , queue = ''] = url.pathname.split('/');
    if (what === 'resources' && !url.pathname.endsWith('/depth')) {
      return { json: { partitions: [...(this.#queues.get(queue)?.values() ?? [])] } };
    }
    switch (url.pathname.split('/').at(-1)) {
      case 'queries':
        return this.#register(given);
      case 'get':
        return this.#about('get', given.partition_id as string, () => {
          const { state } = this.#byId(given.partition_id as string);
          const rows = [...state].map(([key, value]) => ({ key, value }));
          return { json: { success: true, rows } };
        });
      case 'cycle': {
        const cycle = given as unknown as CycleBody;
        const fault = this.fault(cycle);
        return this.#about('cycle', cycle.partition_id, () => {
          if (fault === 'request') return lostConnection();
          const answer = this.#cycle(cycle);
          return fault === 'answer' ? lostConnection() : { json: answer };
        });
      }
      case 'depth':
        return this.#depth(queue, url.searchParams.get('group') ?? '');
      case 'extend':
        return this.#extend(url.pathname.split('/').at(-2) ?? '', given.seconds as number);
      case 'batch':
        return this.#giveBack(given);
      default:
        return this.#pop(decodeURIComponent(queue), url.searchParams);
    }
  };

  async #about(route: string, id: string, act: () => Reply): Promise<Reply> {
    const open = (this.#open.get(id) ?? 0) + 1;
    this.#open.set(id, open);
    this.openMax = Math.max(this.openMax, open);
    await this.delay(route, id);
    this.#open.set(id, (this.#open.get(id) ?? 1) - 1);
    return this.#find(id) === undefined ? { status: 404, json: { error: 'not found' } } : act();
  }

  #register({ config_hash, reset }: Record<string, unknown>): Reply {
    const isOther = this.#hash !== '' && this.#hash !== config_hash;
    if (isOther && reset !== true) return { status: 409, json: { success: false, error: 'no' } };
    this.#hash = config_hash as string;
    return { json: { success: true, query_id: '01a2b3c4-0000-7000-8000-000000000001' } };
  }

  async #pop(queue: string, query: URLSearchParams): Promise<Reply> {
    const waitMs = Number(query.get('timeout') ?? 0);
    const found = this.#claim(queue, query);
    if (found.length > 0) return { json: { messages: found } };
    await new Promise<void>((resolve) => this.platform?.after(waitMs, resolve));
    const late = this.#claim(queue, query);
    return late.length > 0 ? { json: { messages: late } } : { status: 204 };
  }

  #claim(queue: string, query: URLSearchParams): object[] {
    const group = query.get('consumerGroup') ?? '';
    let batch = Number(query.get('batch'));
    let partitions = Number(query.get('partitions'));
    const id = mintId(this.nowMs);
    const found: object[] = [];
    const all = this.#queues.get(queue) ?? new Map<string, Partition>();
    for (const partition of [...all.values()]) {
      const cursor = cursorOf(partition, group);
      const isLeased = cursor.lease !== null && cursor.lease.untilMs > this.nowMs;
      const end = Math.min(partition.messages.length, cursor.next + batch);
      if (isLeased || end === cursor.next || partitions === 0) continue;
      cursor.lease = { id, end, untilMs: this.nowMs + LEASE_MS };
      cursor.attempt++;
      // What was served goes behind what was not.
      all.delete(partition.name);
      all.set(partition.name, partition);
      partitions--;
      batch -= end - cursor.next;
      for (let offset = cursor.next; offset < end; offset++) {
        found.push(rowOf(queue, partition, offset, id, group, cursor.attempt));
      }
    }
    return found;
  }

  #cycle({ ack, release_lease = true, ...cycle }: CycleBody): object {
    const { partition_id, consumer_group, state_ops = [], push_items = [] } = cycle;
    const partition = this.#byId(partition_id);
    const cursor = cursorOf(partition, consumer_group);
    const { lease } = cursor;
    const refused = (reason: string) => ({ success: false, error: reason, reason });
    const isHeld = lease !== null && lease.untilMs > this.nowMs && lease.id === ack?.leaseId;
    if (ack !== null && !isHeld) return refused('bad_lease');
    if (state_ops.length + push_items.length > this.itemsMax) return refused('too_large');
    const ids = push_items.flatMap(({ queue, partition: name, transactionId }) =>
      transactionId === undefined ? [] : [[this.partition(queue, name), transactionId] as const],
    );
    if (ids.some(([{ ids: known }, id]) => known.has(id))) return refused('duplicate');
    for (const [{ ids: known }, id] of ids) known.add(id);
    for (const { queue, partition: name, payload } of push_items) this.push(queue, name, payload);
    for (const { type, key, value } of state_ops) {
      if (type === 'delete') partition.state.delete(key);
      else partition.state.set(key, value);
    }
    if (ack !== null && lease !== null) {
      const isDone = ack.status === 'completed';
      const most = release_lease ? lease.end : Math.min(lease.end, cursor.next + (ack.count ?? 0));
      if (isDone) cursor.next = most;
      if (isDone) cursor.attempt = release_lease ? 0 : cursor.attempt;
      if (release_lease || !isDone) cursor.lease = null;
    }
    this.cycles.push({ ack, release_lease, ...cycle });
    return { success: true };
  }

  #extend(id: string, seconds: number): Reply {
    const cursors = [...this.#queues.values()].flatMap((partitions) =>
      [...partitions.values()].flatMap((one) => [...one.cursors.values()]),
    );
    const held = cursors.flatMap(({ lease }) =>
      lease?.id === id && lease.untilMs > this.nowMs ? [lease] : [],
    );
    for (const lease of held) lease.untilMs = this.nowMs + seconds * 1000;
    return { json: { success: held.length > 0, newExpiresAt: null } };
  }

  #giveBack({ consumerGroup, acknowledgments }: Record<string, unknown>): Reply {
    const items = acknowledgments as { partitionId: string; transactionId: string }[];
    for (const { partitionId } of items) {
      cursorOf(this.#byId(partitionId), consumerGroup as string).lease = null;
    }
    return { json: items.map(({ transactionId }) => ({ transactionId, success: true })) };
  }

  #depth(queue: string, group: string): Reply {
    const partitions = [...(this.#queues.get(queue)?.values() ?? [])].map((one) => {
      return { partition: one.name, pending: one.messages.length - cursorOf(one, group).next };
    });
    return { json: { partitions } };
  }

  #find(id: string): Partition | undefined {
    const all = [...this.#queues.values()].flatMap((partitions) => [...partitions.values()]);
    return all.find((one) => one.id === id);
  }

  #byId(id: string): Partition {
    const found = this.#find(id);
    if (found === undefined) throw new Error(`there is no partition ${id}`);
    return found;
  }
}

function cursorOf(partition: Partition, group: string): Cursor {
  const cursor = partition.cursors.get(group) ?? { next: 0, attempt: 0, lease: null };
  partition.cursors.set(group, cursor);
  return cursor;
}

function rowOf(
  queue: string,
  { id: partitionId, name: partition, messages }: Partition,
  offset: number,
  leaseId: string,
  consumerGroup: string,
  deliveryAttempt: number,
): object {
  const { payload, atMs } = messages[offset] as Stored;
  return {
    id: `${partitionId}-${offset}`,
    queue,
    partition,
    partitionId,
    offset,
    transactionId: `${partitionId}-${offset}`,
    createdAt: new Date(atMs).toISOString(),
    leaseId,
    consumerGroup,
    deliveryAttempt,
    data: payload,
  };
}
