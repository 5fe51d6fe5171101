/** Bugs of the disk layer: log, term and vote, checkpoint. */
import type { PlantedBug } from './bug.js';

const LOG: readonly PlantedBug[] = [
  {
    name: 'log-durable-when-written',
    meaning: 'entries are reported durable without an fdatasync',
    edits: [
      {
        file: 'storage/log/group.ts',
        find: 'writeSynced(this.buffers, this.position',
        replace: 'write(this.buffers, this.position',
      },
    ],
    hunt: 'disk',
    seeds: 20,
  },
  {
    name: 'failed-sync-ignored',
    meaning: 'entries are reported durable although their fdatasync failed',
    edits: [
      {
        file: 'storage/log/writer.ts',
        find: '#onGroupDurable = (error) => {\nif (error !== null) {',
        replace: '#onGroupDurable = (error) => {\nif (false) {',
      },
    ],
    hunt: 'disk',
    seeds: 200,
    first: 21,
  },
  {
    name: 'replaced-entries-reported-durable',
    meaning: 'the end of a write counts for entries that were cut off and replaced meanwhile',
    edits: [{ file: 'storage/log/writer.ts', find: 'this.#capDurable(index - 1);', replace: '' }],
    hunt: 'disk',
    seeds: 30,
  },
  {
    name: 'witness-not-lowered',
    meaning: 'records are cut while the witness still names one of them',
    edits: [
      {
        file: 'storage/log/writer.ts',
        find:
          'this.#options.witness.lower(NO_WITNESS, ' +
          'this.unlessFailed(() => this.#truncateSegments(index, false, done)));',
        replace: 'this.#truncateSegments(index, false, done);',
      },
    ],
    hunt: 'disk',
    seeds: 120,
    first: 15,
  },
  {
    name: 'witness-ahead-of-the-log',
    meaning: 'the witness names a record before it is durable',
    edits: [
      {
        file: 'storage/log/writer.ts',
        find: 'this.#filledTo = Math.max(this.#filledTo, segment.endPosition + zeros.length);',
        replace:
          'this.#durable = this.#lastRecord();\n' +
          'this.#filledTo = Math.max(this.#filledTo, segment.endPosition + zeros.length);',
      },
    ],
    hunt: 'disk',
    seeds: 300,
    first: 39,
  },
  {
    name: 'segment-name-not-durable',
    meaning: 'a new segment is used before its name in the directory is durable',
    edits: [
      {
        file: 'storage/log/writer.ts',
        find: 'const synced = this.unlessFailed(() => disk.syncDirectory(directory, named));',
        replace: 'const synced = this.unlessFailed(() => named(null));',
      },
    ],
    hunt: 'disk',
    seeds: 30,
  },
  {
    name: 'segment-header-not-durable',
    meaning: 'a new segment is used before its header is durable',
    edits: [
      {
        file: 'storage/log/writer.ts',
        find: 'file.writeSynced([encodeSegmentHeader(identity, header)]',
        replace: 'file.write([encodeSegmentHeader(identity, header)]',
      },
    ],
    hunt: 'disk',
    seeds: 180,
  },
  {
    name: 'segments-removed-newest-first',
    meaning: 'old segments are removed in the wrong order: a crash leaves a gap',
    edits: [
      {
        file: 'storage/log/writer.ts',
        find: 'for (const segment of segments)\nthis.inBackground',
        replace: 'for (const segment of [...segments].reverse())\nthis.inBackground',
      },
    ],
    hunt: 'disk',
    seeds: 60,
  },
  {
    name: 'removals-not-durable',
    meaning: 'a segment is removed before the removal of the one before it is durable',
    edits: [
      {
        file: 'storage/disk/space-return.ts',
        find: 'else\nthis.#disk.syncDirectory(this.#directory, named);',
        replace: 'else\nnamed(null);',
      },
    ],
    hunt: 'disk',
    seeds: 250,
    first: 33,
  },
  {
    name: 'bytes-left-behind-a-cut',
    meaning: 'a cut leaves the old records behind the new end of the file',
    edits: [
      {
        file: 'storage/log/writer.ts',
        find: 'file.truncate(segment.endPosition, this.unlessFailed(() => file.sync(synced)));',
        replace: 'file.sync(synced);',
      },
    ],
    hunt: 'disk',
    seeds: 150,
    first: 15,
  },
  {
    name: 'cut-beside-removals',
    meaning: 'the tail is cut while old segments are being removed',
    edits: [
      {
        file: 'storage/log/writer.ts',
        find: 'this.#whenBackgroundIdle(() => this.#startTruncate(change.index, change.done));',
        replace: 'this.#startTruncate(change.index, change.done);',
      },
    ],
    hunt: 'disk',
    seeds: 250,
    first: 23,
  },
  {
    name: 'cut-at-a-bad-checksum',
    meaning: 'damage in the middle of the log is taken for a torn end and cut off',
    edits: [
      { file: 'storage/log/scan.ts', find: 'if (sameGroup)', replace: 'if (true)' },
      {
        file: 'storage/log/scan.ts',
        find: 'if (mayBeTorn(bytes, position, recordEnd))',
        replace: 'if (true)',
      },
    ],
    hunt: 'single',
    seeds: 100,
    first: 5,
  },
];

const REPAIR: readonly PlantedBug[] = [
  {
    name: 'repair-takes-any-body',
    meaning: 'a damaged record is replaced by whatever a peer sends',
    edits: [
      {
        file: 'storage/log/mend.ts',
        find: 'return crc === hole.lastCrc ? asStored : null;',
        replace: 'return asStored;',
      },
    ],
    hunt: 'disk',
    seeds: 60,
  },
  {
    name: 'repair-not-synced',
    meaning: 'a repaired record counts as intact before it is on disk',
    edits: [
      {
        file: 'storage/log/repair.ts',
        find: 'const synced = writer.unlessFailed(() => file.sync(done));',
        replace: 'const synced = writer.unlessFailed(() => done(null));',
      },
    ],
    hunt: 'disk',
    seeds: 60,
  },
];

const VOTES: readonly PlantedBug[] = [
  {
    name: 'vote-not-synced',
    meaning: 'term and vote are reported durable without an fdatasync',
    edits: [
      {
        file: 'storage/log/hard-state.ts',
        find: 'this.#file.writeSynced([bytes], position, (error) => {',
        replace: 'this.#file.write([bytes], position, (error) => {',
      },
    ],
    hunt: 'disk',
    seeds: 20,
  },
  {
    name: 'vote-after-a-failed-sync',
    meaning: 'term and vote are reported durable although their fdatasync failed',
    edits: [
      { file: 'storage/log/hard-state.ts', find: 'if (error !== null)', replace: 'if (false)' },
    ],
    hunt: 'disk',
    seeds: 900,
    first: 113,
  },
  {
    name: 'vote-in-one-copy',
    meaning: 'a vote is reported when the first of its two copies is stored',
    edits: [
      {
        file: 'storage/log/hard-state.ts',
        find: 'this.#store(slot, SLOT_POSITIONS[1], () => {',
        replace: '((run) => run())(() => {',
      },
    ],
    hunt: 'disk',
    seeds: 40,
  },
  {
    name: 'vote-twice-in-one-place',
    meaning: 'both copies of a vote go to the same place',
    edits: [
      {
        file: 'storage/log/hard-state.ts',
        find: 'this.#store(slot, SLOT_POSITIONS[1]',
        replace: 'this.#store(slot, SLOT_POSITIONS[0]',
      },
    ],
    hunt: 'disk',
    seeds: 100,
  },
  {
    name: 'copies-of-the-vote-not-renewed',
    meaning: 'a start acts on a vote that stands in one copy alone',
    edits: [
      {
        file: 'storage/log/hard-state.ts',
        find: 'for (const position of [...SLOT_POSITIONS].reverse()) {',
        replace: 'for (const position of []) {',
      },
    ],
    hunt: 'disk',
    seeds: 150,
    first: 15,
  },
  {
    name: 'vote-not-verified',
    meaning: 'the checksum of term and vote is not compared',
    edits: [
      {
        file: 'storage/log/hard-state.ts',
        find: 'if (crc32(bytes.subarray(0, 60)) !== view.getUint32(60, true))',
        replace: 'if (false)',
      },
    ],
    hunt: 'disk',
    seeds: 40,
  },
];

const CHECKPOINT: readonly PlantedBug[] = [
  {
    name: 'frozen-rows-not-read',
    meaning: 'rows of the checkpoint that is being written are not seen',
    edits: [
      {
        file: 'storage/state/checkpoint.ts',
        find: 'change = this.#frozen?.find(table.id)?.rows.get(key);',
        replace: 'change = undefined;',
      },
    ],
    hunt: 'single',
    seeds: 20,
  },
  {
    name: 'deletions-not-stored',
    meaning: 'a checkpoint leaves out the rows that were deleted',
    edits: [
      {
        file: 'storage/state/checkpoint.ts',
        find: 'transaction.delete(prefixed(table.id, key));',
        replace: '',
      },
    ],
    hunt: 'single',
    seeds: 20,
  },
  {
    name: 'cached-row-kept',
    meaning: 'a row that was changed is read from the cache once its change is checkpointed',
    edits: [
      { file: 'storage/state/checkpoint.ts', find: 'this.#cache.forget(id, key);', replace: '' },
    ],
    hunt: 'single',
    seeds: 20,
  },
  {
    name: 'checkpoint-names-the-entry-before',
    meaning: 'a checkpoint claims one entry less than its rows hold: it is applied twice',
    edits: [
      {
        file: 'storage/state/checkpoint.ts',
        find: 'transaction.commit({ index: appliedIndex, term: appliedTerm }',
        replace:
          'const named = Math.max(this.#appliedIndex, appliedIndex - 1);\n' +
          'transaction.commit({ index: named, term: appliedTerm }',
      },
    ],
    hunt: 'single',
    seeds: 20,
  },
  {
    name: 'checkpoint-names-the-entry-after',
    meaning: 'a checkpoint claims one entry more than its rows hold: it is never applied',
    edits: [
      {
        file: 'storage/state/checkpoint.ts',
        find: 'transaction.commit({ index: appliedIndex, term: appliedTerm }',
        replace: 'transaction.commit({ index: appliedIndex + 1, term: appliedTerm }',
      },
    ],
    hunt: 'single',
    seeds: 20,
  },
];

export const STORAGE_BUGS: readonly PlantedBug[] = [...LOG, ...REPAIR, ...VOTES, ...CHECKPOINT];
