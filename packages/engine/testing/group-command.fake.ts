/** Random commands that change groups, as the HTTP front makes them. */

import type { GroupChangedOutcome, GroupCommand } from '../base/commands/groups.js';
import { TENANT } from './engine.fake.js';
import type { SeededRandom } from './random.fake.js';

const NAMES = ['', 'g', 'grüße ✓', 'x'.repeat(190)];

export function randomGroupCommand(random: SeededRandom): GroupCommand {
  const name = () => NAMES[random.below(NAMES.length)] ?? '';
  const digits = String(random.below(1_000_000_000)).padStart(12, '0');
  const base = {
    tenant: TENANT,
    changeId: `01a2b3c4-0000-4000-8000-${digits}`,
    consumerGroup: name(),
  };
  switch (random.below(3)) {
    case 0:
      return {
        kind: 'seek',
        ...base,
        queue: name(),
        partition: random.below(2) === 0 ? null : name(),
        targetUs: random.below(2) === 0 ? null : random.below(2 ** 52),
      };
    case 1: {
      const deleteMetadata = random.below(2) === 0;
      return {
        kind: 'delete-group',
        ...base,
        queue: random.below(2) === 0 ? null : name(),
        deleteMetadata,
      };
    }
    default:
      return { kind: 'subscribe-group', ...base, atUs: random.below(2 ** 52) };
  }
}

export function randomGroupChanged(random: SeededRandom): GroupChangedOutcome {
  return {
    kind: 'group-changed',
    queues: random.below(100_000),
    changed: random.below(2 ** 32),
  };
}
