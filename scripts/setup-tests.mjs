/** Before the tests of one run of vitest: they load the built output, which has to be current. */
export { setupBuild as setup } from './setup.mjs';
