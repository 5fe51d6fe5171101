/** What judges the core: storms, the model and the scenarios. For tests alone. */
export { explore } from './model/explore.js';
export { VARIANTS } from './model/variants.js';
export { play } from './scenarios/commands.js';
export { differences } from './scenarios/comparison.js';
export { stepsOf } from './scenarios/script.js';
export { storm } from './storm.js';
export type { Focus } from './storm-plan.js';
