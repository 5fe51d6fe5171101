/**
 * The byte regions of everything that a machine has stored, found by a small reader of the formats
 * that is independent of the code under test. Kinds and regions are the rows of the table.
 */
import { CURRENT_STATE } from '@svc/broker';
import { TABLES } from '@svc/engine';
import { DIRECTORY } from '../simulation/machine-settings.js';
import type { MachineImage } from './image.js';

export interface Region {
  readonly kind: string;
  readonly region: string;
  readonly target: { readonly path: string } | { readonly key: string };
  /** Bytes. */
  readonly from: number;
  readonly to: number;
}

type Field = readonly [name: string, from: number, to: number];

const SEGMENT_HEADER: readonly Field[] = [
  ['magic', 0, 4],
  ['format version', 4, 6],
  ['flags', 6, 8],
  ['identity', 8, 24],
  ['sequence', 24, 32],
  ['first index', 32, 40],
  ['previous term', 40, 48],
  ['previous CRC', 48, 52],
  ['not used', 52, 60],
  ['header CRC', 60, 64],
];

const RECORD_HEADER: readonly Field[] = [
  ['header CRC', 0, 4],
  ['body CRC', 4, 8],
  ['previous CRC', 8, 12],
  ['length', 12, 16],
  ['index', 16, 24],
  ['term', 24, 32],
  ['group distance', 32, 36],
  ['type', 36, 37],
  ['mark', 37, 40],
];

const INDEX_HEAD: readonly Field[] = [
  ['magic', 0, 4],
  ['format version', 4, 8],
  ['identity', 8, 24],
  ['sequence', 24, 32],
  ['first index', 32, 40],
  ['record count', 40, 44],
  ['end position', 44, 48],
  ['last CRC', 48, 52],
  ['run count', 52, 56],
  ['positions CRC', 56, 60],
];

const WITNESS: readonly Field[] = [
  ['magic', 0, 4],
  ['format version', 4, 8],
  ['identity', 8, 24],
  ['sequence', 24, 32],
  ['index', 32, 40],
  ['term', 40, 48],
  ['record CRC', 48, 52],
  ['flags', 52, 56],
  ['not used', 56, 60],
  ['CRC', 60, 64],
];

const HARD_STATE_SLOT: readonly Field[] = [
  ['magic', 0, 4],
  ['format version', 4, 8],
  ['identity', 8, 24],
  ['sequence', 24, 32],
  ['term', 32, 40],
  ['vote', 40, 48],
  ['not used', 48, 60],
  ['CRC', 60, 64],
];

const SEGMENT_HEADER_BYTES = 64;
const RECORD_HEADER_BYTES = 40;
const INDEX_HEAD_BYTES = 60;
const RUN_BYTES = 16;
/** Before a row's own bytes stands its CRC. */
const ROW_CRC_BYTES = 4;
const CONFIGURATION = 1;
const NO_BYTES = new Uint8Array(0);

export function regionsOf(image: MachineImage): Region[] {
  const regions: Region[] = [];
  for (const [path, bytes] of image.files) {
    const name = path.slice(DIRECTORY.length + 1);
    if (name === 'identity.json') regions.push(...jsonRegions('identity', path, bytes));
    else if (name === 'identity.json.copy') {
      regions.push(...jsonRegions('identity copy', path, bytes));
    } else if (name === 'snapshot-install.json') {
      regions.push(...jsonRegions('install marker', path, bytes));
    } else if (name === 'raft/recovering') {
      regions.push({ ...whole('recovering marker', 'text', path), to: bytes.length });
    } else if (name === 'raft/hard-state') regions.push(...hardStateRegions(path, bytes));
    else if (name === 'log/witness') regions.push(...fields('witness', '', path, 0, WITNESS));
    else if (!/^log\/segment-\d+\.(log|index)$/.test(name)) {
      throw new Error(`the table knows no regions of ${path}`);
    }
  }
  regions.push(...logRegions(image), ...rowRegions(image));
  return regions;
}

function whole(kind: string, region: string, path: string) {
  return { kind, region, target: { path }, from: 0 };
}

function fields(
  kind: string,
  prefix: string,
  path: string,
  at: number,
  layout: readonly Field[],
): Region[] {
  return layout.map(([name, from, to]) => {
    const region = prefix === '' ? name : `${prefix}: ${name}`;
    return { kind, region, target: { path }, from: at + from, to: at + to };
  });
}

// --- the log -------------------------------------------------------------------------------------

interface FoundRecord {
  readonly at: number;
  readonly length: number;
  readonly type: number;
  /** It holds messages. */
  readonly isAppend: boolean;
}

function logRegions(image: MachineImage): Region[] {
  const paths = [...image.files.keys()].filter((path) => path.endsWith('.log')).sort();
  const middle = paths[Math.floor((paths.length - 1) / 2)];
  const regions: Region[] = [];
  const segments: readonly (readonly [string, string | undefined])[] = [
    ['first', paths[0]],
    ['sealed', middle],
    ['last sealed', paths.at(-2)],
    ['active', paths.at(-1)],
  ];
  // A log that was just begun anew; those of the other shapes have all of these.
  if (new Set(segments.map(([, path]) => path)).size !== segments.length) return [];
  // A node alone has the founding configuration and no other.
  const changed = paths.slice(1).find((path) => {
    const records = recordsOf(image.files.get(path) ?? NO_BYTES);
    return records.some(({ type }) => type === CONFIGURATION);
  });
  if (changed !== undefined) {
    regions.push(...recordRegions('changed', changed, image.files.get(changed) ?? NO_BYTES));
  }
  for (const [role, path = ''] of segments) {
    const bytes = image.files.get(path) ?? NO_BYTES;
    regions.push(...fields(`segment header, ${role}`, '', path, 0, SEGMENT_HEADER));
    regions.push(...recordRegions(role, path, bytes));
    const index = path.replace(/log$/, 'index');
    const indexBytes = image.files.get(index);
    if (indexBytes !== undefined && role === 'sealed') {
      regions.push(...indexRegions(index, indexBytes));
    }
  }
  return regions;
}

/** Records of a segment, in order. */
function recordsOf(bytes: Uint8Array): FoundRecord[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const records: FoundRecord[] = [];
  let at = SEGMENT_HEADER_BYTES;
  while (at + RECORD_HEADER_BYTES <= bytes.length && view.getUint32(at, true) !== 0) {
    const length = view.getUint32(at + 12, true);
    const body = bytes.subarray(at + RECORD_HEADER_BYTES, at + RECORD_HEADER_BYTES + length);
    const isAppend = Buffer.from(body).includes('{"value":');
    records.push({ at, length, type: view.getUint8(at + 36), isAppend });
    at += RECORD_HEADER_BYTES + Math.ceil(length / 8) * 8;
  }
  return records;
}

function recordRegions(role: string, path: string, bytes: Uint8Array): Region[] {
  const records = recordsOf(bytes);
  const regions: Region[] = [];
  const add = (name: string, record: FoundRecord | undefined) => {
    if (record === undefined) return;
    const { at, length } = record;
    const kind = `record, ${name}`;
    regions.push(...fields(kind, '', path, at, RECORD_HEADER));
    const from = at + RECORD_HEADER_BYTES;
    const end = from + Math.ceil(length / 8) * 8;
    if (length > 0) regions.push({ ...whole(kind, 'body', path), from, to: from + length });
    if (end > from + length) {
      regions.push({ ...whole(kind, 'padding', path), from: from + length, to: end });
    }
  };
  const padded = records.filter(({ length }) => length % 8 !== 0);
  const appends = padded.filter(({ isAppend }) => isAppend);
  const others = padded.filter(({ isAppend }) => !isAppend);
  if (role === 'first') add('first of the log', records[0]);
  if (role === 'sealed') {
    add('messages, sealed', appends[Math.floor(appends.length / 2)]);
    add('acks, sealed', others[Math.floor(others.length / 2)]);
    add('last of a sealed segment', records.at(-1));
  }
  if (role === 'active') {
    add('messages, active', appends[Math.floor(appends.length / 2)]);
    add('last of the log', records.at(-1));
  }
  if (role === 'changed') {
    add(
      'configuration',
      records.find(({ type }) => type === CONFIGURATION),
    );
    return regions;
  }
  const last = records.at(-1);
  const end =
    last === undefined
      ? SEGMENT_HEADER_BYTES
      : last.at + RECORD_HEADER_BYTES + Math.ceil(last.length / 8) * 8;
  if (bytes.length > end && (role === 'sealed' || role === 'active')) {
    const kind = `zeros, ${role} segment`;
    const near = Math.min(bytes.length, end + 64);
    regions.push({ ...whole(kind, 'right behind the last record', path), from: end, to: near });
    if (bytes.length > near) {
      regions.push({ ...whole(kind, 'further on', path), from: near, to: bytes.length });
    }
  }
  return regions;
}

function indexRegions(path: string, bytes: Uint8Array): Region[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const runsEnd = INDEX_HEAD_BYTES + view.getUint32(52, true) * RUN_BYTES;
  const kind = 'index file';
  return [
    ...fields(kind, '', path, 0, INDEX_HEAD),
    { ...whole(kind, 'runs', path), from: INDEX_HEAD_BYTES, to: runsEnd },
    { ...whole(kind, 'head CRC', path), from: runsEnd, to: runsEnd + 4 },
    { ...whole(kind, 'positions', path), from: runsEnd + 4, to: bytes.length },
  ];
}

// --- small files ---------------------------------------------------------------------------------

function hardStateRegions(path: string, bytes: Uint8Array): Region[] {
  const slot = 64;
  const second = 4096;
  return [
    ...fields('hard state', 'slot 1', path, 0, HARD_STATE_SLOT),
    { ...whole('hard state', 'between the slots', path), from: slot, to: second },
    ...fields('hard state', 'slot 2', path, second, HARD_STATE_SLOT),
    { ...whole('hard state', 'behind the slots', path), from: second + slot, to: bytes.length },
  ];
}

/** Each field's name and value, and what stands between them. */
function jsonRegions(kind: string, path: string, bytes: Uint8Array): Region[] {
  const text = Buffer.from(bytes).toString('latin1');
  const regions: Region[] = [];
  for (const match of text.matchAll(/"(\w+)": ("[^"]*"|\w+)/g)) {
    const [all, name = '', value = ''] = match;
    const from = match.index;
    const to = from + all.length;
    const at = to - value.length;
    regions.push({ ...whole(kind, `${name}: name`, path), from, to: from + name.length + 2 });
    regions.push({ ...whole(kind, `${name}: value`, path), from: at, to });
  }
  regions.push({ ...whole(kind, 'first brace', path), from: 0, to: 1 });
  const close = text.lastIndexOf('}');
  if (regions.length === 1) throw new Error(`${path} has no fields: ${text}`);
  regions.push({ ...whole(kind, 'last brace', path), from: close, to: close + 1 });
  return regions;
}

// --- the checkpoint ------------------------------------------------------------------------------

/** The first row of each table; keys cannot be changed in the simulated store. */
function rowRegions(image: MachineImage): Region[] {
  const rows = image.stores.get(CURRENT_STATE)?.rows ?? [];
  const regions: Region[] = [];
  for (const table of TABLES) {
    const row = rows.find(({ key }) => key.charCodeAt(0) === table.id);
    if (row === undefined) continue;
    const { key, value } = row;
    const kind = `checkpoint, ${table.name}`;
    regions.push({ kind, region: 'row CRC', target: { key }, from: 0, to: ROW_CRC_BYTES });
    if (value.length > ROW_CRC_BYTES) {
      regions.push({
        kind,
        region: 'row',
        target: { key },
        from: ROW_CRC_BYTES,
        to: value.length,
      });
    }
  }
  return regions;
}
