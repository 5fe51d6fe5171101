// The process of an attack: it fills the node, attacks it, and reports what it saw. It is a process
// of its own so that its work does not delay the clocks of the one that measures.

import { Attack } from './attack.js';
import type { Order, Report } from './attack-messages.js';
import { becomeAttacker } from './attacker.js';
import { scenarioNamed } from './scenario-list.js';

function report(message: Report): void {
  process.send?.(message);
}

async function obey(order: Order): Promise<void> {
  const { nodes, seconds } = order;
  const attack = new Attack({ nodes, seconds, say: (line) => report({ kind: 'line', line }) });
  try {
    const scenario = scenarioNamed(order.scenario);
    if (order.kind === 'fill') {
      await scenario.fill?.(attack);
      report({ kind: 'filled' });
      return;
    }
    attack.begin();
    await scenario.attack(attack);
    const outcomes = [...attack.outcomes].sort((one, other) => other[1] - one[1]);
    report({ kind: 'attacked', outcomes, checks: attack.checks });
  } catch (error) {
    report({ kind: 'failed', error: error instanceof Error ? error.message : String(error) });
  } finally {
    attack.close();
  }
}

becomeAttacker((order: Order) => void obey(order));
