// `npm run bench`: the measurements. The README beside this file lists them.

import { lookup } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { peerStarters } from './against/start-peers.js';
import { CLIENT_USAGE, readClientOptions } from './client/options.js';
import { runClient } from './client/run-client.js';
import { CLUSTER_USAGE, readClusterOptions } from './cluster/options.js';
import { runCluster } from './cluster/run-cluster.js';
import { runGateway } from './gateway/run-gateway.js';
import { runGatewayPushes } from './gateway/run-gateway-pushes.js';
import { GROWTH_USAGE, readGrowthOptions } from './growth/options.js';
import { runGrowth } from './growth/run-growth.js';
import { HOSTILE_USAGE, readHostileOptions } from './hostile/options.js';
import { runHostile } from './hostile/run-hostile.js';
import { LOAD_USAGE, type LoadOptions, readLoadOptions } from './load/options.js';
import { runLoad, type Starter } from './load/run-load.js';
import { reach, startOwn } from './load/system.js';
import { runPrices } from './prices/run-prices.js';
import { runProgram } from './rig/run-program.js';

const PRICES_USAGE = `npm run bench -- --prices
  what the units of work cost on this machine, beside their prices`;

const GATEWAY_USAGE = `npm run bench -- --gateway
  what the gateway itself takes: memory of 100,000 keys and 10,000 clusters, time of a request`;

const GATEWAY_PUSHES_USAGE = `npm run bench -- --gateway-pushes
  a single push through the gateway beside one at the plain port, with 0 and 1 front threads`;

async function runLoads(options: LoadOptions): Promise<void> {
  const { entry, againstBuild, url, tokenFile, httpThreads } = options;
  if (url !== undefined) {
    const place = new URL(url);
    if (place.protocol !== 'http:') throw new Error(`--url ${url}: not http`);
    const { address } = await lookup(place.hostname, { family: 4 });
    const token = tokenFile === undefined ? undefined : readFileSync(tokenFile, 'utf8').trim();
    const there: Starter = async ({ queue }) => reach(place, address, token, queue);
    return runLoad('load', options, [[there]]);
  }
  if (againstBuild !== undefined) {
    const own: Starter = (plan) => startOwn(plan, 'this build', entry);
    const other: Starter = (plan) => startOwn(plan, 'other build', entryOf(againstBuild));
    // Both ways round, with new processes: what a start leaves a process for life, such as how its
    // code was compiled and where its memory lies, meets both builds twice.
    return runLoad('builds', options, [
      [own, other],
      [other, own],
    ]);
  }
  if (httpThreads.length > 0) {
    const starters = httpThreads.map(
      (count): Starter =>
        (plan) =>
          startOwn(plan, `${count} front threads`, entry, count),
    );
    return runLoad('threads', options, [starters]);
  }
  const others = peerStarters(options);
  const kind = others.length > 0 ? 'against' : 'load';
  return runLoad(kind, options, [[(plan) => startOwn(plan, 'svc', entry), ...others]]);
}

/** A checkout, or the file in it that starts a node. */
function entryOf(path: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder ? join(path, 'packages', 'broker', 'dist', 'main.js') : path;
}

const USAGE = [
  LOAD_USAGE,
  GROWTH_USAGE,
  CLUSTER_USAGE,
  CLIENT_USAGE,
  GATEWAY_USAGE,
  HOSTILE_USAGE,
  GATEWAY_PUSHES_USAGE,
  PRICES_USAGE,
].join('\n\n');

await runProgram(USAGE, async (commandLine) => {
  const asksFor = (option: string): boolean =>
    commandLine.some((word) => word === option || word.startsWith(`${option}=`));
  if (asksFor('--prices')) await runPrices();
  else if (asksFor('--hostile')) await runHostile(readHostileOptions(commandLine));
  else if (asksFor('--gateway-pushes')) await runGatewayPushes();
  else if (asksFor('--gateway')) await runGateway();
  else if (asksFor('--client')) await runClient(readClientOptions(commandLine));
  else if (asksFor('--growth')) await runGrowth(readGrowthOptions(commandLine));
  else if (asksFor('--cluster')) await runCluster(readClusterOptions(commandLine));
  else await runLoads(readLoadOptions(commandLine));
});
