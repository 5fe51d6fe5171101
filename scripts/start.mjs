/**
 * `npm start`: one node on this machine, with its data in ./data unless SVC_RAFT_DIR names another
 * directory, and beside it what a gateway counted and has not stored yet. It listens for this
 * machine alone unless SVC_BIND_ADDR says otherwise: nothing else is known of who may reach it, and
 * without tokens it does what anybody asks. The broker runs in this very process, so that a signal
 * reaches it.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, setupOrExit } from './setup.mjs';

await setupOrExit();
process.env.SVC_RAFT_DIR ??= join(root, 'data');
process.env.SVC_PROXY_SPOOL_DIR ??= `${process.env.SVC_RAFT_DIR.replace(/\/+$/, '')}-spool`;
process.env.SVC_BIND_ADDR ??= '127.0.0.1';
await import(pathToFileURL(join(root, 'packages/broker/dist/main.js')).href);
