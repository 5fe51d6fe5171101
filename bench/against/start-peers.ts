// Other systems, started on this machine. Nothing is installed: all that is missing is said at
// once, by the names of the Debian packages that have it.

import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { LoadOptions, Peer, Setting } from '../load/options.js';
import type { Starter } from '../load/run-load.js';
import type { System } from '../load/system.js';
import type { PeerPlan, Requirement } from './peer.js';
import { NATS_NEEDS, startNats } from './peers/nats.js';
import { postgresNeeds, startPostgres } from './peers/postgres.js';
import { RABBITMQ_NEEDS, startRabbitmq } from './peers/rabbitmq.js';
import { REDIS_NEEDS, startRedis } from './peers/redis.js';

const COMPILER_NEEDS: readonly Requirement[] = [
  { program: 'cc', debianPackage: 'gcc' },
  { program: '/usr/include/stdio.h', debianPackage: 'libc6-dev' },
];

function needsOf(peer: Peer): readonly Requirement[] {
  switch (peer) {
    case 'nats':
      return NATS_NEEDS;
    case 'rabbitmq':
      return RABBITMQ_NEEDS;
    case 'redis':
      return REDIS_NEEDS;
    case 'postgres':
      return postgresNeeds();
  }
}

/** Peers that replicate with acknowledgements of a majority, by setting. */
const REPLICATING: { readonly [setting in Setting]: readonly Peer[] } = {
  durable: ['nats', 'rabbitmq'],
  // A classic queue of RabbitMQ stays on one node, however many there are.
  defaults: ['nats'],
};

/** As `requirePeers`. */
export function peerStarters({ peers, settings, nodes }: LoadOptions): readonly Starter[] {
  requirePeers(peers);
  return peers.flatMap((peer) =>
    settings
      .filter((setting) => nodes === 1 || REPLICATING[setting].includes(peer))
      .map(
        (setting): Starter =>
          (plan) =>
            start(peer, { ...plan, setting }),
      ),
  );
}

function start(peer: Peer, plan: PeerPlan): Promise<System> {
  switch (peer) {
    case 'nats':
      return startNats(plan);
    case 'rabbitmq':
      return startRabbitmq(plan);
    case 'redis':
      return startRedis(plan);
    case 'postgres':
      return startPostgres(plan);
  }
}

/** Throws with the packages that are missing, if any. */
export function requirePeers(peers: readonly Peer[], path = process.env.PATH ?? ''): void {
  const needs = [...COMPILER_NEEDS, ...peers.flatMap(needsOf)];
  const missing = needs.filter((need) => !isThere(need.program, path));
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((need) => need.debianPackage))];
  const programs = missing.map((need) => need.program).join(', ');
  throw new Error(
    `not installed: ${programs}\n` +
      `on Debian: apt-get install ${packages.join(' ')} (or leave systems out of --against)`,
  );
}

function isThere(program: string, path: string): boolean {
  const places = isAbsolute(program)
    ? [program]
    : path.split(delimiter).map((folder) => join(folder, program));
  return places.some((place) => {
    try {
      accessSync(place, constants.R_OK);
      return true;
    } catch {
      return false;
    }
  });
}
