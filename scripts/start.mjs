/**
 * `npm start`: one node on this machine, with its data in ./data unless SVC_RAFT_DIR names another
 * directory. The broker runs in this very process, so that a signal reaches it.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, setupOrExit } from './setup.mjs';

await setupOrExit();
process.env.SVC_RAFT_DIR ??= join(root, 'data');
await import(pathToFileURL(join(root, 'packages/broker/dist/main.js')).href);
