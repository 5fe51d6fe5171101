// `npm run bench -- --raft`: the consensus core alone. Three nodes in this process, storage in
// memory, 256-byte entries proposed in batches of 64, a few batches under way; how many entries a
// second are committed and handed to apply. Once with messages passed as objects, once through the
// bytes that a transport would carry. One core does the work of three nodes here.

import { crc32 } from 'node:zlib';
import {
  configuration,
  decodeMessage,
  type Entry,
  encodeMessage,
  entryBytes,
  type LogIndex,
  logIndex,
  type Message,
  NO_NODE,
  nodeId,
  Raft,
  type RaftStorage,
  type Ready,
  type Term,
  term,
} from '@svc/raft';

const NODES = 3;
const ENTRY_DATA_BYTES = 256;
const BATCH_ENTRIES = 64;
const BATCHES_UNDER_WAY = 4;
/** Entries that the storage keeps behind the newest; what is older is given up now and then. */
const KEEP_ENTRIES = 16_384;
const TARGET_PER_SECOND = 200_000;

/** The part of a host's log that the core reads. */
class MemoryStorage implements RaftStorage {
  #entries: Entry[] = [];
  #base = 0;
  #baseTerm: Term = term(0);

  firstIndex(): LogIndex {
    return logIndex(this.#base + 1);
  }

  lastIndex(): LogIndex {
    return logIndex(this.#base + this.#entries.length);
  }

  term(index: LogIndex): Term | undefined {
    if (index === this.#base) return this.#baseTerm;
    return this.#entries[index - this.#base - 1]?.term;
  }

  entries(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] {
    const found: Entry[] = [];
    let bytes = 0;
    for (let index = from as number; index < to; index++) {
      const entry = this.#entries[index - this.#base - 1];
      if (entry === undefined) break;
      bytes += entryBytes(entry);
      if (bytes > bytesMax && found.length > 0) break;
      found.push(entry);
    }
    return found;
  }

  snapshot(): undefined {
    return undefined;
  }

  write(entries: readonly Entry[]): void {
    const first = entries[0];
    if (first === undefined) return;
    const place = first.index - this.#base - 1;
    if (place < this.#entries.length) this.#entries.length = place;
    for (const entry of entries) this.#entries.push(entry);
    if (this.#entries.length < 2 * KEEP_ENTRIES) return;
    const given = this.#entries.length - KEEP_ENTRIES;
    this.#baseTerm = this.#entries[given - 1]?.term ?? term(0);
    this.#entries = this.#entries.slice(given);
    this.#base += given;
  }
}

interface Member {
  readonly raft: Raft;
  readonly storage: MemoryStorage;
}

/** How a message comes from one node to another. */
type Passage = (message: Message) => Message;

function throughBytes(message: Message): Message {
  // A socket would join the parts for its reader.
  const frame = Buffer.concat(encodeMessage(message, crc32));
  const decoded = decodeMessage(frame, undefined, crc32);
  if (decoded.type === 'refused') throw new Error(`a frame was refused: ${decoded.reason}`);
  return decoded;
}

class Group {
  readonly #members: readonly Member[];
  readonly #passage: Passage;
  #inbox: Message[] = [];
  /** Handed to apply at the leader, without the empty entries of leaders. */
  applied = 0;

  constructor(passage: Passage) {
    this.#passage = passage;
    const voters = Array.from({ length: NODES }, (_, place) => nodeId(place + 1));
    this.#members = voters.map((id) => {
      const storage = new MemoryStorage();
      const raft = new Raft({
        id,
        nowMs: 0,
        random: () => 0.5,
        storage,
        hardState: { term: term(0), vote: NO_NODE, commit: logIndex(0) },
        configuration: configuration(voters),
        configurationIndex: logIndex(0),
        applied: logIndex(0),
      });
      return { raft, storage };
    });
    this.#first.campaign();
    this.#carryOut(this.#members[0]);
    this.settle();
  }

  get #first(): Raft {
    const [first] = this.#members;
    if (first === undefined) throw new Error('a group of none');
    return first.raft;
  }

  propose(batch: readonly Uint8Array[]): void {
    const proposal = this.#first.proposeAll(batch);
    if (!proposal.accepted) throw new Error(`a proposal was refused: ${proposal.reason}`);
    this.#carryOut(this.#members[0]);
  }

  /** Hands on messages, those that arise meanwhile included. */
  settle(): void {
    while (this.#inbox.length > 0) {
      const inbox = this.#inbox;
      this.#inbox = [];
      for (const message of inbox) {
        const member = this.#members[message.to - 1];
        member?.raft.step(this.#passage(message));
        this.#carryOut(member);
      }
    }
  }

  #carryOut(member: Member | undefined): void {
    if (member === undefined) return;
    while (member.raft.hasReady()) this.#take(member, member.raft.ready());
  }

  #take({ raft, storage }: Member, ready: Ready): void {
    for (const message of ready.messages) this.#inbox.push(message);
    storage.write(ready.entries);
    for (const message of ready.afterDurable) {
      if (message.to === message.from) raft.step(message);
      else this.#inbox.push(message);
    }
    const last = ready.committed.at(-1);
    if (last === undefined) return;
    raft.applied(last.index);
    if (raft !== this.#first) return;
    for (const entry of ready.committed) if (entry.data.length > 0) this.applied++;
  }
}

/** Entries a second, after a warm-up of a quarter of the time. */
function measure(passage: Passage, seconds: number): number {
  const group = new Group(passage);
  const batch = Array.from({ length: BATCH_ENTRIES }, () => new Uint8Array(ENTRY_DATA_BYTES));
  const run = (forMs: number): number => {
    const before = group.applied;
    const startMs = performance.now();
    let nowMs = startMs;
    while (nowMs - startMs < forMs) {
      for (let i = 0; i < BATCHES_UNDER_WAY; i++) group.propose(batch);
      group.settle();
      nowMs = performance.now();
    }
    return ((group.applied - before) * 1000) / (nowMs - startMs);
  };
  run(seconds * 250);
  return run(seconds * 1000);
}

/** Prints both figures. */
export function runRaftBench(seconds: number): void {
  const figures: readonly (readonly [string, Passage])[] = [
    ['messages as objects', (message) => message],
    ['messages as bytes', throughBytes],
  ];
  const shape = `${NODES} nodes, ${ENTRY_DATA_BYTES}-byte entries, batches of ${BATCH_ENTRIES}`;
  process.stdout.write(`raft core: ${shape}, ${seconds} s each\n`);
  for (const [name, passage] of figures) {
    const rate = Math.round(measure(passage, seconds)).toLocaleString('en');
    process.stdout.write(`  ${name.padEnd(22)}${rate.padStart(12)} entries/s\n`);
  }
  process.stdout.write(
    `  target${TARGET_PER_SECOND.toLocaleString('en').padStart(28)} entries/s\n`,
  );
}
