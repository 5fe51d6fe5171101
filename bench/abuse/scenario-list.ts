// Every attack, in the order of a full run: what ends a node comes first.

import type { Scenario } from './scenario.js';
import { ANSWERS } from './scenarios/answers.js';
import { CONNECTIONS } from './scenarios/connections.js';
import { DOOR } from './scenarios/door.js';
import { LISTS_SCENARIOS } from './scenarios/lists.js';
import { NAMES } from './scenarios/names.js';
import { RECLAIM } from './scenarios/reclaim.js';
import { SURFACES } from './scenarios/surfaces.js';
import { WIDE } from './scenarios/wide.js';

export const SCENARIOS: readonly Scenario[] = [
  ...RECLAIM,
  ...CONNECTIONS,
  ...NAMES,
  ...WIDE,
  ...ANSWERS,
  ...LISTS_SCENARIOS,
  ...SURFACES,
  ...DOOR,
];

export function scenarioNamed(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`there is no attack named ${name}`);
  return found;
}
