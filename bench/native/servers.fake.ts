// Servers in memory that speak just what the load program says to Redis, NATS, RabbitMQ and
// PostgreSQL. Each counts what it stored and what was acknowledged; every answer leaves in two
// pieces, so that a parser meets the middle of it; and any can be told to refuse what is
// published.

import { createServer, type Server, type Socket } from 'node:net';
import type { Protocol } from './load-program.js';

export const FAKE_PROTOCOLS = ['redis', 'nats', 'amqp', 'postgres'] as const satisfies Protocol[];
export type FakeProtocol = (typeof FAKE_PROTOCOLS)[number];

/** One connection's reading of its protocol. */
interface Conversation {
  /** Takes one whole request from the front; returns its length, 0 when some is missing. */
  take(bytes: Buffer): number;
}

type Converse = (server: FakeServer, say: (answer: Buffer | string) => void) => Conversation;

const PAYLOAD = '{"text":"abc"}';
const RETRY_MS = 2;

export class FakeServer {
  stored = 0;
  /** Handed to consumers. */
  taken = 0;
  acknowledged = 0;
  refuses = false;
  /** Until answers leave. */
  delayMs = 0;
  /** So many connections are answered at a time. */
  together = 1;
  /** Called when something was stored. */
  readonly onStored: (() => void)[] = [];
  readonly #held: (() => void)[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(protocol: FakeProtocol) {
    this.#server = createServer((socket) => this.#serve(socket, CONVERSATIONS[protocol]));
  }

  static open(protocol: FakeProtocol): Promise<FakeServer> {
    const fake = new FakeServer(protocol);
    return new Promise((resolve) => fake.#server.listen(0, '127.0.0.1', () => resolve(fake)));
  }

  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  store(messages: number): void {
    this.stored += messages;
    for (const wake of this.onStored) wake();
  }

  /** How many of so many messages there are. */
  hand(wanted: number): number {
    const count = Math.min(wanted, this.stored - this.taken);
    this.taken += count;
    return count;
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #hold(flush: () => void): void {
    this.#held.push(flush);
    if (this.#held.length < this.together) return;
    const all = this.#held.splice(0);
    setTimeout(() => {
      for (const one of all) one();
    }, this.delayMs);
  }

  #serve(socket: Socket, converse: Converse): void {
    this.#sockets.add(socket.setNoDelay());
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => socket.destroy());
    let answers: Buffer[] = [];
    const flush = (): void => {
      const all = Buffer.concat(answers);
      answers = [];
      const middle = Math.ceil(all.length / 2);
      socket.write(all.subarray(0, middle));
      setImmediate(() => socket.write(all.subarray(middle)));
    };
    const say = (answer: Buffer | string): void => {
      answers.push(Buffer.from(answer));
      // Pieces of one answer never change places: both are written before the next answers are.
      if (answers.length === 1) this.#hold(flush);
    };
    const conversation = converse(this, say);
    let rest = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let used = 1; used > 0 && rest.length > 0; rest = rest.subarray(used)) {
        used = conversation.take(rest);
      }
    });
  }
}

// -- Redis --

const redis: Converse = (server, say) => {
  const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`;
  const read = (count: number): void => {
    const handed = server.hand(count);
    if (handed === 0) {
      setTimeout(() => say('*-1\r\n'), RETRY_MS);
      return;
    }
    const entries = Array.from(
      { length: handed },
      (_, i) => `*2\r\n${bulk(`${i}-0`)}*2\r\n${bulk('d')}${bulk(PAYLOAD)}`,
    );
    say(`*1\r\n*2\r\n${bulk('bench')}*${handed}\r\n${entries.join('')}`);
  };
  const answer = (words: readonly string[]): void => {
    if (words[0] === 'XADD' && server.refuses) say('-ERR refused as told\r\n');
    else if (words[0] === 'XADD') {
      server.store(1);
      say(bulk('1-0'));
    } else if (words[0] === 'XREADGROUP') read(Number(words[5]));
    else if (words[0] === 'XACK') {
      server.acknowledged += words.length - 3;
      say(`:${words.length - 3}\r\n`);
    } else say('+OK\r\n');
  };
  return {
    take: (bytes) => {
      const lines = bytes.toString('latin1').split('\r\n');
      const count = Number(lines[0]?.slice(1));
      // A line of the count, two for each word, and what is behind the last one.
      if (lines.length < 2 * count + 2) return 0;
      const own = lines.slice(0, 2 * count + 1);
      answer(own.filter((_line, i) => i > 0 && i % 2 === 0));
      return own.reduce((sum, line) => sum + line.length + 2, 0);
    },
  };
};

// -- NATS --

const nats: Converse = (server, say) => {
  const message = (to: string, body: string, reply = ''): void =>
    say(`MSG ${to} 1 ${reply}${body.length}\r\n${body}\r\n`);
  const fetch = (inbox: string, count: number): void => {
    const handed = server.hand(count);
    const head = 'NATS/1.0 408 Request Timeout\r\n\r\n';
    for (let i = 0; i < handed; i += 1) message(inbox, PAYLOAD, '$JS.ACK.x ');
    if (handed < count) {
      setTimeout(
        () => say(`HMSG ${inbox} 1 ${head.length} ${head.length}\r\n${head}\r\n`),
        RETRY_MS,
      );
    }
  };
  const answer = (subject: string, inbox: string, body: string): void => {
    if (body === '+ACK') server.acknowledged += 1;
    else if (subject.includes('MSG.NEXT')) fetch(inbox, Number(/"batch":(\d+)/.exec(body)?.[1]));
    else if (subject.startsWith('$JS.API')) message(inbox, '{"type":"done"}');
    else if (server.refuses) message(inbox, '{"error":{"description":"refused as told"}}');
    else {
      server.store(1);
      message(inbox, '{"stream":"bench","seq":1}');
    }
  };
  say('INFO {"headers":true}\r\n');
  return {
    take: (bytes) => {
      const end = bytes.indexOf('\r\n') + 2;
      if (end < 2) return 0;
      const [word = '', subject = '', ...others] = bytes.toString('latin1', 0, end - 2).split(' ');
      if (word === 'PING') say('PONG\r\n');
      if (word !== 'PUB') return end;
      const length = Number(others.at(-1));
      if (bytes.length < end + length + 2) return 0;
      answer(subject, others.at(-2) ?? '', bytes.toString('latin1', end, end + length));
      return end + length + 2;
    },
  };
};

// -- RabbitMQ --

const frame = (type: number, channel: number, payload: Buffer): Buffer => {
  const head = Buffer.from([type, 0, channel, 0, 0, 0, 0]);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.from([0xce])]);
};

const method = (channel: number, classId: number, id: number, rest: readonly number[]): Buffer =>
  frame(1, channel, Buffer.from([0, classId, 0, id, ...rest]));

const long = (value: number): readonly number[] => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return [...bytes];
};

/** Answers of methods that need no thought, by class and method. */
const AMQP_ANSWERS: ReadonlyMap<string, Buffer> = new Map([
  ['10.11', method(0, 10, 30, [0, 1, 0, 2, 0, 0, 0, 0])],
  ['10.40', method(0, 10, 41, [0])],
  ['20.10', method(1, 20, 11, [0, 0, 0, 0])],
  ['50.10', method(1, 50, 11, [0, 0, 0, 0, 0, 0, 0, 0, 0])],
  ['50.40', method(1, 50, 41, [0, 0, 0, 0])],
  ['60.10', method(1, 60, 11, [])],
  ['85.10', method(1, 85, 11, [])],
]);

const amqp: Converse = (server, say) => {
  let published = 0;
  let confirmed = 0;
  let unacknowledged = 0;
  let prefetch = 0;
  let delivered = 0;
  const deliver = (): void => {
    while (unacknowledged < prefetch && server.hand(1) === 1) {
      unacknowledged += 1;
      delivered += 1;
      say(method(1, 60, 60, [1, 99, ...long(delivered), 0, 0, 0]));
      say(frame(2, 1, Buffer.from([0, 60, 0, 0, ...long(PAYLOAD.length), 0, 0])));
      // In two frames, as a long one would be.
      say(frame(3, 1, Buffer.from(PAYLOAD.slice(0, 4))));
      say(frame(3, 1, Buffer.from(PAYLOAD.slice(4))));
    }
  };
  const take = (name: string, payload: Buffer): void => {
    const known = AMQP_ANSWERS.get(name);
    if (known !== undefined) say(known);
    if (name === '60.10') prefetch = payload.readUInt16BE(8);
    if (name === '60.20') {
      say(method(1, 60, 21, [1, 99]));
      server.onStored.push(deliver);
      deliver();
    }
    if (name === '60.80') {
      const count = payload[12] === 1 ? Number(payload.readBigUInt64BE(4)) : null;
      const settled = count === null ? 1 : count - (delivered - unacknowledged);
      unacknowledged -= settled;
      server.acknowledged += settled;
      deliver();
    }
  };
  const stored = (): void => {
    if (server.refuses) {
      say(method(1, 20, 40, [1, 56, ...Buffer.from('\x0frefused as told'), 0, 0, 0, 0]));
      return;
    }
    published += 1;
    server.store(1);
    // Every third confirm speaks for all before it; the others come late, where they still have to.
    const tag = published;
    if (tag % 3 === 0) {
      confirmed = tag;
      say(method(1, 60, 80, [...long(tag), 1]));
    } else {
      setTimeout(() => tag > confirmed && say(method(1, 60, 80, [...long(tag), 0])), 0);
    }
  };
  let greeted = false;
  return {
    take: (bytes) => {
      if (!greeted) {
        greeted = true;
        say(method(0, 10, 10, [0, 9, 0, 0, 0, 0]));
        return 8;
      }
      if (bytes.length < 8) return 0;
      const size = bytes.readUInt32BE(3);
      if (bytes.length < size + 8) return 0;
      const payload = bytes.subarray(7, 7 + size);
      if (bytes[0] === 1) take(`${payload.readUInt16BE(0)}.${payload.readUInt16BE(2)}`, payload);
      if (bytes[0] === 3) stored();
      return size + 8;
    },
  };
};

// -- PostgreSQL --

const packet = (type: string, content: Buffer | string): Buffer => {
  const head = Buffer.from(`${type}\0\0\0\0`);
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, Buffer.from(content)]);
};

const row = Buffer.concat([
  Buffer.from([0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, PAYLOAD.length]),
  Buffer.from(PAYLOAD),
]);

const postgres: Converse = (server, say) => {
  const ready = packet('Z', 'I');
  let limit = 0;
  let held = 0;
  const execute = (statement: string, bound: Buffer): void => {
    if (statement === 'insert' && server.refuses) {
      say(packet('E', 'SERROR\0C23505\0Mrefused as told\0\0'));
    } else if (statement === 'insert') {
      const count = bound.readUInt16BE(statement.length + 6);
      server.store(count);
      say(packet('C', `INSERT 0 ${count}\0`));
    } else if (statement === 'take') {
      held = server.hand(limit);
      for (let i = 0; i < held; i += 1) say(packet('D', row));
      say(packet('C', `SELECT ${held}\0`));
    } else if (statement === 'delete') {
      // Behind the names, the formats and the length of the array stand its head and its size.
      const count = bound.readUInt32BE(statement.length + 24);
      server.acknowledged += count;
      say(packet('C', `DELETE ${count}\0`));
    } else say(packet('C', `${statement}\0`));
  };
  const take = (type: string, content: Buffer): void => {
    if (type === 'P') {
      limit = Number(/LIMIT (\d+)/.exec(content.toString('latin1'))?.[1] ?? limit);
      say(packet('1', ''));
    } else if (type === 'B') {
      say(packet('2', ''));
      execute(content.toString('latin1', 1, content.indexOf(0, 1)), content);
    } else if (type === 'Q') {
      say(packet('C', 'CREATE TABLE\0'));
      say(ready);
    } else if (type === 'S') say(ready);
  };
  let started = false;
  return {
    take: (bytes) => {
      if (bytes.length < 5) return 0;
      const length = started ? 1 + bytes.readUInt32BE(1) : bytes.readUInt32BE(0);
      if (bytes.length < length) return 0;
      if (started) take(bytes.toString('latin1', 0, 1), bytes.subarray(5, length));
      else {
        started = true;
        say(packet('R', '\0\0\0\0'));
        say(packet('S', 'server_version\x0015\0'));
        say(ready);
      }
      return length;
    },
  };
};

const CONVERSATIONS: { readonly [protocol in FakeProtocol]: Converse } = {
  redis,
  nats,
  amqp,
  postgres,
};
