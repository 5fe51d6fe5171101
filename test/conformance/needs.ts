/**
 * What rows need of a broker that not every broker has: one list for all sections. What a row needs
 * of addresses and tenants it says itself, by what it asks for (`sameNode`, `stranger`, the guard).
 * Each need is probed once, when a row that was chosen has it.
 */
import type { SectionName } from '../contract/sections.js';
import type { ContractRow } from '../contract/table.js';
import type { Need } from './probes.js';

interface Needing {
  readonly need: Need;
  readonly section: SectionName | RegExp;
  /** Rows of these names; absent: every row. */
  readonly rows?: readonly string[];
  /** Only rows whose description has this. */
  readonly does?: RegExp;
  /** Only rows that take several requests. */
  readonly isScenario?: true;
}

const BODY = 'SVC_MAX_BODY_BYTES=4194304';
const KEY = 'SVC_ENCRYPTION_KEY';
const LOOKS = 'RETENTION_INTERVAL=200';
const FLUSHES = 'METRICS_FLUSH_MS=1000';
const NOBODY = 'a broker that wants no token';

const NEEDS: readonly Needing[] = [
  { need: BODY, section: 'message-plane 1.4', rows: ['413 body over SVC_MAX_BODY_BYTES'] },
  { need: BODY, section: 'streams 4.3', rows: ['413'] },

  { need: KEY, section: 'message-plane 11.5' },
  { need: KEY, section: 'inspection 1.1', rows: ['row'], does: /decrypted/ },
  { need: KEY, section: 'state-surfaces 3.2', rows: ['payload as stored'], does: /encrypted/ },
  { need: KEY, section: 'state-surfaces 3.3', rows: ['timers_encrypted_conflict'] },
  { need: KEY, section: 'state-surfaces 3.3', rows: ['in a transaction'], does: /encryption/ },
  { need: KEY, section: 'state-surfaces 3.4', rows: ['encrypted at schedule'] },
  { need: KEY, section: 'streams 4.1', rows: ['push'], does: /encrypted/ },

  { need: LOOKS, section: 'message-plane 11.2' },
  { need: LOOKS, section: 'message-plane 14.1', rows: ['26', '27'] },
  { need: LOOKS, section: 'message-plane 3.4', rows: ['5 seal'] },
  { need: LOOKS, section: 'message-plane 11.1', rows: ['retention does not forget'] },
  { need: LOOKS, section: 'message-plane 2', rows: ['duplicate of a message that is gone'] },
  { need: LOOKS, section: 'inspection 5.4', isScenario: true },

  {
    need: FLUSHES,
    section: 'inspection 4.1',
    rows: ['answer', 'throughput', 'workers, statsAge'],
  },
  { need: FLUSHES, section: /^inspection 5\.[2-8]$/, isScenario: true },
  { need: FLUSHES, section: 'inspection 9', rows: ['svc_queue_pop_lag_milliseconds'], does: /age/ },

  { need: NOBODY, section: 'message-plane 2', rows: ['producerSub is never taken from the body'] },
  { need: NOBODY, section: 'message-plane 3.2', rows: ['message producerSub'] },
  {
    need: NOBODY,
    section: 'message-plane 14',
    rows: ['pop'],
    does: /one message of a named group/,
  },
  { need: NOBODY, section: 'cluster-and-config 2.7', rows: ['JWT_ENABLED'] },
  { need: NOBODY, section: 'inspection 1.1', rows: ['row'], does: /unconsumed message/ },
  { need: NOBODY, section: 'state-surfaces 3.2', rows: ['peek'], does: /all members/ },
  { need: NOBODY, section: 'state-surfaces 3.4', rows: ['the fired message'] },

  { need: 'key/value, switched on', section: /^state-surfaces [0123]\./ },
  { need: 'ephemeral queues, switched on', section: /^state-surfaces 4\./ },
  { need: 'SVC_KV_REQUIRE_GRANT=false', section: 'state-surfaces 5.2', rows: ['purge'] },
  {
    need: 'SVC_EPHEMERAL_REQUIRE_GRANT=false',
    section: 'state-surfaces 5.2',
    rows: ['purge'],
  },
];

export function needsOf(section: SectionName, row: ContractRow): readonly Need[] {
  return NEEDS.filter((one) => isOf(one, section, row)).map(({ need }) => need);
}

function isOf(needing: Needing, section: SectionName, row: ContractRow): boolean {
  const { rows = [row.row], does = /^/, isScenario = false } = needing;
  const inSection =
    needing.section instanceof RegExp ? needing.section.test(section) : needing.section === section;
  return (
    inSection && rows.includes(row.row) && does.test(row.does) && (!isScenario || 'run' in row)
  );
}
