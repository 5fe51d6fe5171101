/**
 * Goal: the first node of a standby begins with what its source has, wherever the copying was
 * interrupted and whatever the source did meanwhile, refuses writes from its first moment, and goes
 * on along its source.
 *
 * Method: a machine with an empty directory beside a group that is the source, whose log began
 * anew. One step of the machine's disk fails and its power is lost, or the source is cut off in the
 * middle of each of its answers, and the seed is taken again until it stands.
 */
import { crc32 } from 'node:zlib';
import { readMeta, type SourceEntry, sourcePositionOf, standbyRoleOf } from '@svc/engine';
import {
  decideRead,
  encodeAnswerEnd,
  encodeAnswerHead,
  encodeEntryHead,
  parseReadRequest,
  parseSeedRequest,
  READ_PATH,
  SEED_PATH,
} from '@svc/standby';
import { DiskError, Log } from '@svc/storage';
import { expect, test, vi } from 'vitest';
import { readConfig } from '../config/config.js';
import { NORMAL } from '../consensus/consensus-storage.js';
import { StandbyLeader } from '../leader/standby-leader.js';
import { SeedAnswers } from '../standby/seed-answers.js';
import type { SourcePort } from '../standby/source-port.js';
import { createLogger } from '../system/logging.js';
import { Ended, FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { randomSource } from '../testing/random-source.fake.js';
import { readSeedRecord } from './seed-record.js';
import {
  refuseUnfinishedSeed,
  type SeedingOptions,
  seedFromSource,
  waitsForSeed,
} from './seeding.js';

const PIECE = 700;

/** The nodes of a group as a standby reaches them, in the time of the standby. */
class GroupSource implements SourcePort {
  readonly group: FakeGroup;
  readonly holds: [string, number][] = [];
  /** Pieces of answers that still come; then the path breaks. */
  left = Number.POSITIVE_INFINITY;
  /** Runs before each answer. */
  before: (path: string) => void = () => {};
  /** So many portions of rows lack one. */
  lacking = 0;
  /** Rows and reads say that they go so many entries further than they do. */
  farther = 0;
  /** What a node has applied, when entries are read. */
  appliedAt: (address: string, applied: number) => number = (_, applied) => applied;
  readonly #later: (work: () => void) => void;

  constructor(group: FakeGroup, later: (work: () => void) => void) {
    this.group = group;
    this.#later = later;
  }

  ask: SourcePort['ask'] = (address, path, body, listener) => {
    const pieces = () => this.#answer(address, path, body);
    this.#later(() => {
      this.before(path);
      const [first] = this.group.leaders;
      if (first === undefined) return listener.onFailure(`${address}: nobody is there`);
      const bytes = Buffer.concat(pieces());
      const next = (at: number): void => {
        if (this.left-- <= 0) listener.onFailure(`${address}: the path broke`);
        else if (at >= bytes.length) listener.onEnd();
        else {
          listener.onBytes(bytes.subarray(at, at + PIECE));
          this.#later(() => next(at + PIECE));
        }
      };
      next(0);
    });
    return { pause: () => {}, resume: () => {}, close: () => {} };
  };

  close(): void {}

  #answer(address: string, path: string, body: string): readonly Uint8Array[] {
    const { node, parts } = this.group.leader();
    if (node === null || parts === null) throw new Error('the source is down');
    const { log, identity } = parts;
    const { clusterId } = identity;
    if (path === SEED_PATH) {
      const request = parseSeedRequest(body);
      if ('error' in request) throw new Error(request.error);
      const { sender } = node.parts;
      if (sender === null) throw new Error('the source has no peers');
      const note = (reader: string, after: number) => {
        this.holds.push([reader, after]);
        return 'kept';
      };
      const wrong = {
        // Time stands still at the source, so that it would not let go of the readers before.
        answer: (_: unknown, ask: Parameters<typeof sender.answer>[1]) => {
          const content = sender.answer('the reader', ask);
          if (content?.kind !== 'snapshot-chunk') return content;
          const name = { ...content.name, index: content.name.index + this.farther };
          const rows = content.rows.slice(this.lacking-- > 0 ? 1 : 0);
          return { ...content, name, rows };
        },
      };
      const parts = { clusterId, log, sender: wrong, holds: { note } };
      const answer = new SeedAnswers(parts).answer(request);
      if (typeof answer === 'string') throw new Error(answer);
      return answer;
    }
    const request = parseReadRequest(body);
    if ('error' in request) throw new Error(request.error);
    this.holds.push([request.reader, request.holdAfter ?? -1]);
    const applied = this.appliedAt(address, node.parts.appliedIndex());
    const purged = log.firstIndex - 1;
    const decision = decideRead(request, {
      applied,
      purged,
      termAt: (index) => log.term(index) ?? null,
    });
    const head = { kind: decision.kind, clusterId, applied, purged, term: null };
    const end = { upto: request.after + this.farther, applied, term: 0 };
    if (decision.kind !== 'entries') {
      return [encodeAnswerHead(head, crc32), encodeAnswerEnd(end, crc32)];
    }
    const entries = entriesOf(log, decision.from + 1, decision.to).slice(0, 5);
    const isAll = entries.length < 5;
    const upto = isAll ? decision.to + this.farther : (entries.at(-1)?.index ?? 0);
    return [
      encodeAnswerHead(head, crc32),
      ...entries.flatMap((entry) => [encodeEntryHead(entry, crc32), entry.body]),
      encodeAnswerEnd({ ...end, upto, term: log.term(upto) ?? 1 }, crc32),
    ];
  }
}

function entriesOf(log: NonNullable<FakeMachine['parts']>['log'], from: number, to: number) {
  const found: SourceEntry[] = [];
  for (let next = from; next <= to; ) {
    const entries = log.entries(next, to + 1, 1 << 20);
    next += entries.length;
    for (const { index, term, type, data } of entries) {
      if (type === NORMAL && data.length > 0) found.push({ index, term, body: data });
    }
  }
  return found;
}

/** A source that has given up the start of its log, and has messages on both sides of that. */
function sourceOf(founders = 1, role?: 'promoted'): FakeGroup {
  const environment: Record<string, string> = {
    SVC_RAFT_LOG_KEEP: '1',
    SVC_RAFT_SEGMENT_BYTES: '4096',
    SVC_RAFT_DURABLE_EVERY_MS: '20',
  };
  if (role !== undefined) {
    environment.SVC_LINK_SOURCE = 'far:7400';
    environment.SVC_LINK_STANDBY = 'true';
  }
  const group = new FakeGroup({ founders, seed: 5, environment, purgeStep: 1 });
  group.until('a leader', () => group.leaders.length > 0);
  if (role !== undefined) {
    const promoted = group.leader().submit({ kind: 'promote' });
    group.until('an answer', () => promoted.all.length > 0);
  }
  push(group, 150, 'old', 'old');
  const dropped = group.leader().deleteQueue('old');
  group.until('an answer', () => dropped.all.length > 0);
  push(group, 20, 'a');
  group.until('a shorter log', () => (group.leader().parts?.log.firstIndex ?? 0) > 1);
  return group;
}

function push(group: FakeGroup, count: number, prefix: string, queue = 'q'): void {
  for (let i = 0; i < count; i++) {
    const answers = group.leader().push(queue, `${prefix}${i}`);
    group.until('an answer', () => answers.all.length > 0);
  }
  group.run(2000);
}

interface Rig {
  readonly source: GroupSource;
  readonly group: FakeGroup;
  readonly machine: FakeMachine;
}

function rig(source = sourceOf()): Rig {
  const environment = { SVC_LINK_SOURCE: 'a:7400,b:7400', SVC_LINK_SEED: '1' };
  const group = new FakeGroup({ founders: 1, seed: 9, environment });
  const machine = group.machine(1);
  machine.empty();
  const later = (work: () => void) => void group.after(1, work);
  return { source: new GroupSource(source, later), group, machine };
}

function optionsOf({ source, group, machine }: Rig): SeedingOptions {
  const config = readConfig({
    SVC_RAFT_DIR: '/data',
    SVC_RAFT_REPLICATOR: 'raft',
    SVC_RAFT_NODE_ID: '1',
    SVC_RAFT_PEERS: '1=node-1:7400/node-1:6632',
    SVC_LINK_SOURCE: 'a:7400,b:7400',
    SVC_LINK_SEED: '1',
  });
  if (config.kind === 'refused') throw new Error(config.error);
  return {
    config,
    disk: machine.disk,
    clock: {
      wallUs: () => 1_748_736_000_000_000,
      nowMs: () => group.nowMs,
      soon: (work) => group.after(0, work),
      after: (delayMs, work) => group.after(delayMs, work),
      every: () => () => {},
    },
    random: randomSource(() => group.random()),
    logger: createLogger({ level: 'off', json: false }, () => {}),
    crash: { kind: 'unarmed', reach: () => {} },
    place: machine.place,
    source,
    askPeers: async () => null,
    onFatal: (error) => {
      throw new Ended(error.message);
    },
  };
}

async function seed(it: Rig, options = optionsOf(it)): Promise<string> {
  const seeding = seedFromSource(options).then(
    () => 'seeded',
    (error: Error) => error.message,
  );
  const ended = new Promise<string>(
    (resolve) => void it.group.after(60_000, () => resolve('ended')),
  );
  let outcome = '';
  const settled = Promise.race([seeding, ended]).then((text) => {
    outcome = text;
  });
  await it.group.finish('a seed', settled, 120_000);
  return outcome;
}

/** It is a standby of its source from its first moment, before anybody leads. */
function begins({ source, group, machine }: Rig) {
  machine.start();
  const early = machine.push('q', 'early');
  group.until('a leader', () => machine.leads);
  const { state } = machine.parts ?? {};
  const other = source.group.leader().parts;
  if (state === undefined || other === null) throw new Error('down');
  const record = readSeedRecord(machine.disk, '/data');
  expect(record?.state).toBe('staged');
  const role = standbyRoleOf(state);
  expect(role).toMatchObject({
    role: 'standby',
    id: record?.id,
    source: 'a:7400,b:7400',
    sourceCluster: other.identity.clusterId,
  });
  const position = sourcePositionOf(state);
  expect(position).toMatchObject({ index: record?.applied, term: record?.appliedTerm });
  const { voters, learners } = machine.status.configuration;
  expect({ voters, learners }).toEqual({ voters: [machine.node?.member], learners: [] });
  expect(early.one).toMatchObject({ refusal: { reason: 'standby' } });
  return { state, other, position };
}

/** It serves the rows of its source, refuses writes, and takes the entries that follow. */
function stands(it: Rig): void {
  const { state, other, position } = begins(it);
  const { source, group, machine } = it;
  push(source.group, 5, 'b');
  const office = machine.node?.parts.leadership.office;
  if (!(office instanceof StandbyLeader)) throw new Error('no leadership of a standby');
  const last = other.log.lastIndex;
  for (const entry of entriesOf(other.log, position.index + 1, last)) {
    expect(office.mirror(office.position.index, entry)).toEqual({ kind: 'proposed' });
    group.run(20);
  }
  expect(readMeta(state)).toEqual(readMeta(other.state));
  const fetched = machine.fetch('q');
  const wanted = source.group.leader().fetch('q');
  group.run(100);
  source.group.run(100);
  expect(fetched.one).toEqual(wanted.one);
  const write = machine.push('q', 'late');
  group.run(10);
  expect(write.one).toMatchObject({ refusal: { reason: 'standby' } });
}

test('a seed of a source that has given up the start of its log', async () => {
  const it = rig();
  const { log } = it.source.group.leader().parts ?? {};
  expect(log?.firstIndex).toBeGreaterThan(1);
  expect(await seed(it)).toBe('seeded');
  stands(it);
  const name = it.source.holds[0]?.[0];
  expect(name).toMatch(/^standby-[0-9a-f]{8}$/);
  const first = (log?.firstIndex ?? 0) - 1;
  expect(it.source.holds.every(([reader, after]) => reader === name && after === first)).toBe(true);
});

test('while entries are stored the next ones are on their way, and none after those', async () => {
  const it = rig();
  let open = 0;
  const asked: number[] = [];
  const real = Log.prototype.append;
  const spy = vi.spyOn(Log.prototype, 'append').mockImplementation(function (
    this: Log,
    entries,
    done,
    isOld,
  ) {
    if (isOld !== true) return real.call(this, entries, done, isOld);
    open++;
    const stored = () => {
      open--;
      done();
    };
    return real.call(this, entries, () => void it.group.after(100, stored), isOld);
  });
  const { ask } = it.source;
  it.source.ask = (address, path, body, listener) => {
    if (path === READ_PATH) asked.push(open);
    return ask(address, path, body, listener);
  };
  expect(await seed(it)).toBe('seeded');
  spy.mockRestore();
  expect(asked.slice(0, 3)).toEqual([0, 1, 1]);
  expect(Math.max(...asked)).toBe(1);
  stands(it);
});

test('a seed of a source of three nodes that was a standby itself', async () => {
  const it = rig(sourceOf(3, 'promoted'));
  expect(await seed(it)).toBe('seeded');
  stands(it);
});

/** From the given change of the disk or of the names of the stores on nothing takes effect. */
function losePowerAt(step: number, { disk, place }: FakeMachine): { readonly isLost: boolean } {
  const [check, rename, remove] = [disk.check, place.rename, place.remove];
  const { life } = disk;
  let steps = 0;
  const count = (what: string) => {
    if (disk.life === life && ++steps >= step)
      throw new DiskError('EIO', 'write', what, 'no power');
  };
  disk.check = (operation, path, of) => {
    if (operation !== 'read' && operation !== 'open') count(path);
    check.call(disk, operation, path, of);
  };
  place.rename = (from, to) => {
    count(from);
    rename.call(place, from, to);
    count(to);
  };
  place.remove = (name) => {
    count(name);
    remove.call(place, name);
    count(name);
  };
  return {
    get isLost() {
      return steps >= step;
    },
  };
}

/** A step takes a tenth of a second. The second loss, which may come anywhere, has the others. */
const STRIDE = 3;

test('power is lost at each step, and again at one of those that follow', async () => {
  const it = rig();
  let steps = 1;
  for (; ; steps += STRIDE) {
    it.machine.empty();
    const power = losePowerAt(steps, it.machine);
    if ((await seed(it)) === 'seeded') start(it);
    if (!power.isLost) break;
    it.machine.crash('power');
    losePowerAt(1 + Math.floor(it.group.random() * steps), it.machine);
    await seed(it);
    it.machine.crash(steps % 2 === 0 ? 'power' : 'process');
    expect(await seed(it), `step ${steps}`).toBe('seeded');
    begins(it);
  }
  expect(steps).toBeGreaterThan(100);
  it.machine.crash();
  stands(it);
});

/** Until it leads, or its power is lost. */
function start({ group, machine }: Rig): void {
  try {
    machine.start();
    group.run(500);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
}

test('the process ends within each piece of each answer', async () => {
  const it = rig();
  for (let lives = 1; ; lives++) {
    it.source.left = lives;
    const outcome = await seed(it);
    if (outcome === 'seeded') {
      expect(lives).toBeGreaterThan(3);
      break;
    }
    expect(outcome).toMatch(/could not be seeded from its source: [ab]:7400: the path broke$/);
    it.machine.crash(lives % 2 === 0 ? 'power' : 'process');
    if (lives > 500) throw new Error('it never stands');
  }
  stands(it);
});

test('a source that gives up more of its log meanwhile', async () => {
  const it = rig();
  let gaveUp = false;
  it.source.before = (path) => {
    if (path === SEED_PATH || gaveUp) return;
    gaveUp = true;
    const { group } = it.source;
    const { log } = group.leader().parts ?? {};
    const drop = group.leader().deleteQueue('q');
    group.until('an answer', () => drop.all.length > 0);
    push(group, 30, 'c');
    group.run(120_000);
    group.until('a shorter log', () => {
      push(group, 5, 'd');
      return (log?.firstIndex ?? 0) > 30;
    });
  };
  expect(await seed(it)).toBe('seeded');
  expect(gaveUp).toBe(true);
  stands(it);
});

test('a node of the source that is behind, up to where its leader changed', async () => {
  const source = sourceOf(3);
  for (const prefix of ['b', 'c']) {
    source.leader().restart();
    source.run(2000);
    push(source, 10, prefix);
  }
  const it = rig(source);
  const { log } = source.leader().parts ?? {};
  if (log === undefined) throw new Error('down');
  // The first entry of a term has no effects.
  let blank = log.firstIndex + 1;
  while (blank < log.lastIndex && log.term(blank) === log.term(blank - 1)) blank++;
  expect(log.term(log.lastIndex)).toBeGreaterThan(log.term(blank) ?? 0);
  const seen: string[] = [];
  it.source.appliedAt = (address, applied) => {
    seen.push(address);
    if (seen.includes('b:7400') && address === 'a:7400') return applied;
    return blank - (address === 'a:7400' ? 1 : 0);
  };
  expect(await seed(it)).toBe('seeded');
  expect(seen.indexOf('b:7400')).toBeGreaterThan(1);
  stands(it);
});

test('no node of the source answers', async () => {
  const it = rig();
  for (const machine of it.source.group.machines.values()) machine.crash();
  expect(await seed(it)).toBe(
    'this node could not be seeded from its source: b:7400: nobody is there',
  );
});

test('rows that are not those of their name are received once more', async () => {
  const it = rig();
  it.source.lacking = 1;
  expect(await seed(it)).toBe('seeded');
  stands(it);
});

test('a source that claims more entries than can be without effects is refused', async () => {
  const it = rig();
  it.source.farther = 200_000;
  expect(await seed(it)).toMatch(/: the source has no entries from \d+ to 200\d{3}$/);
});

test('another cluster answers after an interruption', async () => {
  const it = rig();
  it.source.before = (path) => {
    if (path !== SEED_PATH) it.source.left = 0;
  };
  expect(await seed(it)).not.toBe('seeded');
  const first = readSeedRecord(it.machine.disk, '/data')?.sourceCluster;
  const other = new GroupSource(sourceOf(3), (work) => void it.group.after(1, work));
  const otherCluster = other.group.clusterId;
  expect(first).not.toBe(otherCluster);
  expect(await seed(it, { ...optionsOf(it), source: other })).toContain(
    `source is cluster ${otherCluster}, this standby follows ${first}`,
  );
});

test('a directory with data, and one whose peers have a cluster, are left alone', async () => {
  const it = rig();
  expect(await seed(it, { ...optionsOf(it), askPeers: async () => 2 })).toBe('seeded');
  expect(it.machine.disk.paths()).toEqual([]);
  it.machine.start();
  it.group.until('a leader', () => it.machine.leads);
  it.machine.crash('process');
  expect(await seed(it)).toBe('seeded');
  expect(readSeedRecord(it.machine.disk, '/data')).toBeNull();
});

test('a directory whose seed was interrupted is used by nothing else', async () => {
  const it = rig();
  const { config, disk } = optionsOf(it);
  const other = { config: { ...config, seedNode: null }, disk };
  refuseUnfinishedSeed(other);
  // The log is whole, and only the record does not say so.
  it.machine.disk.failNext('remove', 'EIO', 'snapshot-install');
  expect(await seed(it)).not.toBe('seeded');
  it.machine.crash('power');
  expect(() => refuseUnfinishedSeed(other)).toThrow(
    'the seed of /data was interrupted, and SVC_LINK_SEED does not name this node: set it again, ' +
      'or empty the data directory',
  );
  refuseUnfinishedSeed({ config, disk });
  expect(await seed(it)).toBe('seeded');
  refuseUnfinishedSeed(other);
  stands(it);
});

test('every other node of the list waits to be added', () => {
  const { config } = optionsOf(rig());
  expect([1, 2].map((nodeId) => waitsForSeed({ ...config, nodeId }))).toEqual([false, true]);
  expect(waitsForSeed({ ...config, nodeId: 2, seedNode: null })).toBe(false);
});
