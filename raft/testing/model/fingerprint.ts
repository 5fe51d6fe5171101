/**
 * The state of a machine, or a message, as a text: two machines with one text behave alike from
 * here on. Clocks and what only they decide are left out, because in the model no timer runs out by
 * itself. `rename` gives nodes other numbers, so that states which differ in the naming of the
 * nodes alone can be recognised as one.
 */
import { assert } from '../../assert.js';
import type { Configuration } from '../../configuration.js';
import { readConfiguration } from '../../configuration-codec.js';
import type { Core } from '../../core.js';
import type { Entry } from '../../entry.js';
import type { Message } from '../../messages.js';
import type { Progress } from '../../progress.js';
import type { HardState } from '../../ready.js';
import type { Machine } from './machine.js';

export type Rename = (id: number) => number;

export const asItIs: Rename = (id) => id;

export function machineText(machine: Machine, rename: Rename): string {
  const { disk, core } = machine;
  const writes = disk.writes.map(
    ({ hardState, entries, messages }) =>
      `${hardStateText(hardState, rename)}${entriesText(entries, rename)}` +
      messages.map((message) => messageText(message, rename)).join('+'),
  );
  return [
    rename(machine.id),
    hardStateText(disk.plate.hardState, rename),
    hardStateText(disk.lazy, rename),
    entriesText(disk.plate.entries, rename),
    disk.plate.recovering ? `lost ${disk.plate.lives}` : '',
    entriesText(disk.plate.ghosts, rename),
    writes.join('|'),
    machine.heardWhileRecovering.map((message) => messageText(message, rename)).join('+'),
    coreText(core, rename),
  ].join('/');
}

/** Everything but the clock's part and the number of a write, by which nothing is decided. */
export function messageText(message: Message, rename: Rename): string {
  const parts: (string | number | boolean)[] = [];
  for (const [name, value] of Object.entries(message)) {
    switch (name) {
      case 'sentMs':
      case 'sequence':
      case 'round':
        break;
      case 'from':
      case 'to':
      case 'target':
        parts.push(`${name}${rename(value)}`);
        break;
      case 'entries':
        parts.push(entriesText(value, rename));
        break;
      default:
        assert(typeof value !== 'object', `the model knows no ${name} of ${message.type}`);
        parts.push(value);
    }
  }
  return parts.join(',');
}

export function entryText(entry: Entry, rename: Rename): string {
  if (entry.type === 'normal') return `${entry.term}`;
  const record = readConfiguration(entry.data);
  assert(record !== undefined, `the configuration entry ${entry.index} cannot be read`);
  return `${entry.term}${configurationText(record.configuration, rename)}`;
}

export function configurationText(config: Configuration, rename: Rename): string {
  const { voters, outgoing, learners, learnersNext, promoting, autoLeave } = config;
  const lists = [voters, outgoing, learners, learnersNext, promoting];
  return `{${lists.map((ids) => renamed(ids, rename)).join(';')}${autoLeave ? '*' : ''}}`;
}

function entriesText(entries: readonly Entry[], rename: Rename): string {
  return `[${entries.map((entry) => entryText(entry, rename)).join()}]`;
}

function hardStateText(state: HardState | undefined, rename: Rename): string {
  return state === undefined ? '-' : `${state.term}v${rename(state.vote)}c${state.commit}`;
}

/** What no rule of the core decides by while no timer runs, or what others of the fields imply. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'id',
  'settings',
  'appends',
  'reads',
  'nowMs',
  'electionSinceMs',
  'heartbeatSinceMs',
  'campaignAfterMs',
  'promisedUntilMs',
  'promiseRenewed',
  // Used by lease reads only, which the model leaves out.
  'hasDurableTerm',
  'transferSinceMs',
  'uncommittedBytes',
  'drops',
  // The first entry of the own term.
  'ownTermIndex',
  // Always taken out before a state is looked at.
  'messages',
  'afterDurable',
  'configurationsInApply',
]);

/** Neither the name of a node nor a structure that holds one. */
const PLAIN: ReadonlySet<string> = new Set([
  'term',
  'role',
  'electable',
  'configurationIndex',
  'pendingConfigurationIndex',
  'leaseGivenUp',
]);

const PROGRESS_LEFT_OUT: ReadonlySet<string> = new Set([
  'recentlyActive',
  'lastReplyMs',
  'offeredMs',
  'ackedRound',
  'ackedSentMs',
  // Never full in the model.
  'inFlight',
]);

function coreText(core: Core, rename: Rename): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(core)) {
    if (LEFT_OUT.has(name)) continue;
    switch (name) {
      case 'log': {
        const { last, durable, committed, applied } = core.log;
        parts.push(`${last}d${durable}c${committed}a${applied}`);
        break;
      }
      case 'recovery':
        parts.push(core.recovery === undefined ? '-' : `life ${core.recovery.life}`);
        break;
      case 'vote':
      case 'leader':
      case 'transferTarget':
        parts.push(`${rename(value)}`);
        break;
      case 'configuration':
        parts.push(configurationText(core.configuration, rename));
        break;
      case 'votes':
        parts.push(mapText(core.votes, rename, String));
        break;
      case 'peers':
        // A node that does not lead begins its list anew when it does.
        parts.push(core.role === 'leader' ? mapText(core.peers, rename, progressText) : '-');
        break;
      default:
        assert(PLAIN.has(name), `the core has a new part, ${name}: teach it to the fingerprint`);
        parts.push(`${value}`);
    }
  }
  return parts.join();
}

function progressText(peer: Progress): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(peer)) {
    if (PROGRESS_LEFT_OUT.has(name)) continue;
    assert(isPlain(value), `a peer's progress has a new part, ${name}`);
    parts.push(`${value}`);
  }
  return parts.join(' ');
}

function isPlain(value: unknown): boolean {
  return ['number', 'string', 'boolean'].includes(typeof value);
}

function mapText<Value>(
  map: ReadonlyMap<number, Value>,
  rename: Rename,
  text: (value: Value) => string,
): string {
  const parts = [...map].map(([id, value]) => `${rename(id)}:${text(value)}`);
  return `(${parts.sort().join()})`;
}

function renamed(ids: readonly number[], rename: Rename): string {
  return ids
    .map(rename)
    .sort((one, other) => one - other)
    .join(' ');
}
