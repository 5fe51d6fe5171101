// What of the machine a comparison needs. Nothing is installed: all that is missing is said at
// once, by the names of the Debian packages that have it.

import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { NATS_NEEDS } from './peers/nats.js';
import { postgresNeeds } from './peers/postgres.js';
import { RABBITMQ_NEEDS } from './peers/rabbitmq.js';
import { REDIS_NEEDS } from './peers/redis.js';
import type { Requirement } from './peers/system.js';
import type { PeerName } from './result.js';

const COMPILER_NEEDS: readonly Requirement[] = [
  { program: 'cc', debianPackage: 'gcc' },
  { program: '/usr/include/stdio.h', debianPackage: 'libc6-dev' },
];

function needsOf(peer: PeerName): readonly Requirement[] {
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

/** Throws with the packages that are missing, if any. */
export function requirePeers(peers: readonly PeerName[], path = process.env.PATH ?? ''): void {
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
