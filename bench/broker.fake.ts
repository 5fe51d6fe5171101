// A broker of one process for the tests of the programs in this folder: health, push with
// deduplication, wildcard and pinned pop with leases and long poll, cumulative `completed` acks.
// It keeps a journal, so that what it acknowledged survives being closed and opened again, which
// is all a kill of the process means here. Faults can be planted: a demo that cannot fail shows
// nothing.
//
// In: HTTP as the contract has it, sections 2 to 4. Not here: failed, retry and dlq, subscription
// modes, conflation, limits, every refusal but a plain 400.

import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readArray, readObject, readString } from './json-slices.js';

export type PlantedFault = 'none' | 'lose' | 'duplicate' | 'reorder' | 'alter';

interface StoredMessage {
  readonly transactionId: string;
  readonly payload: string;
}

interface Lease {
  readonly id: string;
  readonly lastOffset: number;
  readonly expiresMs: number;
}

interface Cursor {
  committed: number;
  lease: Lease | null;
  lastReleased: string;
  attemptOffset: number;
  attempt: number;
}

interface Partition {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  readonly messages: StoredMessage[];
  readonly offsets: Map<string, number>;
  readonly cursors: Map<string, Cursor>;
}

interface Waiter {
  readonly retry: () => boolean;
  readonly giveUp: NodeJS.Timeout;
}

type JournalLine =
  | { readonly push: readonly [queue: string, partition: string, id: string, payload: string] }
  | { readonly lease: readonly [partitionId: string, group: string, lease: Lease] }
  | { readonly ack: readonly [partitionId: string, group: string, committed: number] };

interface Reply {
  readonly status: number;
  readonly text: string;
}

const EMPTY: Reply = { status: 204, text: '' };

export class FakeBroker {
  readonly #journal: number;
  readonly #fault: PlantedFault;
  readonly #partitions: Partition[] = [];
  readonly #partitionsByName = new Map<string, Partition>();
  readonly #server: Server;
  readonly #waiters = new Set<Waiter>();
  #rotation = 0;
  #deliveries = 0;
  #acks = 0;

  private constructor(directory: string, fault: PlantedFault) {
    this.#fault = fault;
    const file = join(directory, 'journal');
    if (existsSync(file)) {
      for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
        this.#replay(JSON.parse(line) as JournalLine);
      }
    }
    this.#journal = openSync(file, 'a');
    this.#server = createServer((request, response) => this.#serve(request, response));
  }

  static async open(
    directory: string,
    port: number,
    fault: PlantedFault = 'none',
  ): Promise<FakeBroker> {
    const broker = new FakeBroker(directory, fault);
    await new Promise<void>((resolve, reject) => {
      broker.#server.on('error', reject);
      broker.#server.listen(port, '127.0.0.1', resolve);
    });
    return broker;
  }

  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  /** Cuts every connection, answered or not. */
  async close(): Promise<void> {
    for (const waiter of this.#waiters) {
      clearTimeout(waiter.giveUp);
    }
    this.#waiters.clear();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
    closeSync(this.#journal);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      const route = `${request.method} ${url.pathname}`;
      if (route === 'GET /health') {
        send(response, { status: 200, text: '{"status":"healthy"}' });
      } else if (route === 'GET /api/v1/raft/status') {
        const bytes = fstatSync(this.#journal).size;
        send(response, { status: 200, text: JSON.stringify({ log: { files: 1, bytes } }) });
      } else if (route === 'POST /api/v1/push') {
        send(response, this.#push(Buffer.concat(chunks)));
        this.#wake();
      } else if (route.startsWith('POST /api/v1/ack')) {
        send(response, this.#ack(Buffer.concat(chunks).toString()));
        this.#wake();
      } else if (route.startsWith('GET /api/v1/pop/queue/')) {
        this.#popOrPark(url, response);
      } else {
        send(response, { status: 404, text: '{"error":"not found","code":"no_such_route"}' });
      }
    });
  }

  #push(body: Buffer): Reply {
    const results: string[] = [];
    readObject(body, 0, (key, items) => {
      if (key === 'items') {
        readArray(items, 0, (item) => results.push(this.#pushItem(results.length, item)));
      }
    });
    return { status: 201, text: `[${results.join(',')}]` };
  }

  #pushItem(index: number, item: Buffer): string {
    const fields = new Map<string, Buffer>();
    readObject(item, 0, (key, value) => fields.set(key, value));
    const text = (key: string): string | undefined => {
      const value = fields.get(key);
      return value === undefined ? undefined : readString(value);
    };
    const queue = text('queue') ?? '';
    const name = text('partition') ?? 'Default';
    const messageId = randomUUID();
    const transactionId = text('transactionId') ?? messageId;
    const partition = this.#partition(queue, name);
    const status = partition.offsets.has(transactionId) ? 'duplicate' : 'queued';
    if (status === 'queued') {
      const payload = fields.get('payload')?.toString() ?? 'null';
      this.#record({ push: [queue, name, transactionId, payload] });
    }
    return JSON.stringify({
      index,
      message_id: messageId,
      transaction_id: transactionId,
      queueName: queue,
      status,
    });
  }

  #popOrPark(url: URL, response: ServerResponse): void {
    const first = this.#pop(url);
    if (first !== EMPTY || url.searchParams.get('wait') !== 'true') {
      send(response, first);
      return;
    }
    const waiter: Waiter = {
      retry: () => {
        const reply = this.#pop(url);
        if (reply === EMPTY) {
          return false;
        }
        send(response, reply);
        return true;
      },
      giveUp: setTimeout(
        () => {
          this.#waiters.delete(waiter);
          send(response, this.#pop(url));
        },
        Number(url.searchParams.get('timeout') ?? 30_000),
      ),
    };
    this.#waiters.add(waiter);
    response.on('close', () => {
      clearTimeout(waiter.giveUp);
      this.#waiters.delete(waiter);
    });
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.retry()) {
        return;
      }
      clearTimeout(waiter.giveUp);
      this.#waiters.delete(waiter);
    }
  }

  #pop(url: URL): Reply {
    const [queue, , pinned] = url.pathname
      .slice('/api/v1/pop/queue/'.length)
      .split('/')
      .map(decodeURIComponent);
    const group = url.searchParams.get('consumerGroup') ?? '__QUEUE_MODE__';
    const leaseMs = Number(url.searchParams.get('leaseSeconds') ?? 60) * 1000;
    let budget = Number(url.searchParams.get('batch') ?? 200);
    let width = Number(url.searchParams.get('partitions') ?? 1);
    const leaseId = randomUUID();
    const messages: string[] = [];
    for (let step = 0; step < this.#partitions.length && width > 0 && budget > 0; step += 1) {
      const partition = this.#partitions[(this.#rotation + step) % this.#partitions.length];
      if (partition === undefined || partition.queue !== queue) {
        continue;
      }
      if (pinned !== undefined && partition.name !== pinned) {
        continue;
      }
      const claimed = this.#claim(partition, group, leaseId, leaseMs, budget);
      if (claimed.length > 0) {
        messages.push(...claimed);
        budget -= claimed.length;
        width -= 1;
      }
    }
    this.#rotation += 1;
    if (messages.length === 0) {
      return EMPTY;
    }
    const head = JSON.stringify({ success: true, queue, leaseId, consumerGroup: group });
    return { status: 200, text: `${head.slice(0, -1)},"messages":[${messages.join(',')}]}` };
  }

  #claim(
    partition: Partition,
    group: string,
    leaseId: string,
    leaseMs: number,
    budget: number,
  ): string[] {
    const cursor = cursorOf(partition, group);
    const first = cursor.committed + 1;
    const leased = cursor.lease !== null && cursor.lease.expiresMs > Date.now();
    if (leased || first >= partition.messages.length) {
      return [];
    }
    const end = Math.min(first + budget, partition.messages.length);
    cursor.attempt = cursor.attemptOffset === first ? cursor.attempt + 1 : 1;
    cursor.attemptOffset = first;
    const lease = { id: leaseId, lastOffset: end - 1, expiresMs: Date.now() + leaseMs };
    this.#record({ lease: [partition.id, group, lease] });
    const texts: string[] = [];
    for (let offset = first; offset < end; offset += 1) {
      texts.push(messageText(partition, cursor, group, offset));
    }
    this.#deliveries += 1;
    return this.#deliveries % 50 === 0 ? this.#spoil(texts) : texts;
  }

  #spoil(texts: string[]): string[] {
    switch (this.#fault) {
      case 'none':
      case 'duplicate':
        return texts;
      case 'lose':
        return texts.slice(1);
      case 'reorder':
        return texts.reverse();
      case 'alter':
        return texts.map((text) => text.replace('"data":', '"data": 1e0,"was":'));
    }
  }

  #ack(body: string): Reply {
    const request = JSON.parse(body) as {
      readonly consumerGroup?: string;
      readonly acknowledgments?: readonly Acknowledgment[];
    } & Acknowledgment;
    const group = request.consumerGroup ?? '__QUEUE_MODE__';
    const items = request.acknowledgments ?? [request];
    const results = items.map((item, index) => {
      const error = this.#complete(group, item);
      return {
        index,
        transactionId: item.transactionId,
        success: error === null,
        error,
        leaseReleased: error === null,
        dlq: false,
        noop: false,
      };
    });
    return { status: 200, text: JSON.stringify(results) };
  }

  #complete(group: string, item: Acknowledgment): string | null {
    const partition = this.#partitions[Number(item.partitionId)];
    if (partition === undefined) {
      return `no partition ${item.partitionId}`;
    }
    const cursor = cursorOf(partition, group);
    const lease = cursor.lease;
    if (lease === null || lease.id !== item.leaseId || lease.expiresMs <= Date.now()) {
      return cursor.lastReleased === item.leaseId ? null : 'invalid or expired lease';
    }
    const offset = partition.offsets.get(item.transactionId);
    if (offset === undefined || offset > lease.lastOffset) {
      return 'unresolvable: transaction not in the ack window';
    }
    this.#record({ ack: [partition.id, group, offset] });
    this.#acks += 1;
    if (this.#fault === 'duplicate' && this.#acks % 50 === 0) {
      cursor.committed -= 1;
    }
    return null;
  }

  #partition(queue: string, name: string): Partition {
    const key = JSON.stringify([queue, name]);
    const known = this.#partitionsByName.get(key);
    if (known !== undefined) {
      return known;
    }
    const id = String(this.#partitions.length);
    const cursors = new Map<string, Cursor>();
    const made = { id, queue, name, messages: [], offsets: new Map<string, number>(), cursors };
    this.#partitions.push(made);
    this.#partitionsByName.set(key, made);
    return made;
  }

  #record(line: JournalLine): void {
    writeSync(this.#journal, `${JSON.stringify(line)}\n`);
    this.#replay(line);
  }

  #replay(line: JournalLine): void {
    if ('push' in line) {
      const [queue, name, transactionId, payload] = line.push;
      const partition = this.#partition(queue, name);
      partition.offsets.set(transactionId, partition.messages.length);
      partition.messages.push({ transactionId, payload });
      return;
    }
    const [id, group] = 'lease' in line ? line.lease : line.ack;
    const partition = this.#partitions[Number(id)];
    if (partition === undefined) {
      throw new Error(`the journal names partition ${id} before its first message`);
    }
    const cursor = cursorOf(partition, group);
    if ('lease' in line) {
      cursor.lease = line.lease[2];
      return;
    }
    cursor.committed = line.ack[2];
    if (cursor.lease !== null && cursor.lease.lastOffset <= cursor.committed) {
      cursor.lastReleased = cursor.lease.id;
      cursor.lease = null;
    }
  }
}

interface Acknowledgment {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly leaseId: string;
}

function cursorOf(partition: Partition, group: string): Cursor {
  const known = partition.cursors.get(group);
  if (known !== undefined) {
    return known;
  }
  const made = { committed: -1, lease: null, lastReleased: '', attemptOffset: -1, attempt: 0 };
  partition.cursors.set(group, made);
  return made;
}

function messageText(partition: Partition, cursor: Cursor, group: string, offset: number): string {
  const message = partition.messages[offset];
  const head = JSON.stringify({
    id: randomUUID(),
    queue: partition.queue,
    transactionId: message?.transactionId,
    traceId: null,
  });
  const tail = JSON.stringify({
    producerSub: null,
    createdAt: '2026-01-01T00:00:00.000000Z',
    partitionId: partition.id,
    partition: partition.name,
    leaseId: cursor.lease?.id,
    consumerGroup: group,
    deliveryAttempt: cursor.attempt,
    retryCount: cursor.attempt - 1,
    offset,
  });
  return `${head.slice(0, -1)},"data":${message?.payload},${tail.slice(1)}`;
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply.status === 204) {
    response.writeHead(204).end();
    return;
  }
  const bytes = Buffer.from(reply.text);
  const headers = { 'Content-Type': 'application/json', 'Content-Length': bytes.length };
  response.writeHead(reply.status, headers).end(bytes);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const fault = (process.env.FAKE_FAULT ?? 'none') as PlantedFault;
  const directory = process.env.SVC_RAFT_DIR ?? '.';
  const broker = await FakeBroker.open(directory, Number(process.env.PORT), fault);
  process.on('SIGTERM', () => void broker.close());
}
