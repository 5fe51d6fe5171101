/** The ephemeral queues of an opened node: what of it and of its surroundings they need. */
import { ringLimits } from '@svc/ephemeral';
import type { Config } from '../config/config.js';
import { nodeNumber } from '../config/member-id.js';
import type { OpenDirectory } from '../directory/node-directory.js';
import { Ephemeral } from '../ephemeral/ephemeral.js';
import type { NodeLayers } from './layers.js';
import type { NodeOptions } from './options.js';

export function newEphemeral(
  { config, clock, random, logger, calls = null }: NodeOptions,
  { state, identity }: OpenDirectory,
  layers: NodeLayers,
): Ephemeral {
  return new Ephemeral({
    self: identity.nodeId,
    clock,
    fraction: () => random.fraction(),
    limits: limitsOf(config),
    silentMsMax: config.ephemeralSilentMsMax,
    meters: layers.meters.ephemeral,
    state,
    appliedIndex: () => layers.consensus.applied,
    members: () => layers.group.members().map(nodeNumber),
    heardAgoMs: (node) => {
      const member = layers.group.members().find((one) => nodeNumber(one) === node);
      return member === undefined ? null : (layers.reports.of(member)?.ageMs ?? null);
    },
    calls,
    submit: (command, reply) => layers.broker.submit(command, reply),
    warn: (text) => logger.warn('ephemeral', text),
  });
}

function limitsOf(config: Config): ReturnType<typeof ringLimits> {
  return ringLimits(config.ephemeralBytesMax, config.ephemeralIdleSeconds * 1000, {
    maxBytes: config.ephemeralRingBytesMax,
    maxLength: config.ephemeralRingLengthMax,
    leaseSeconds: config.ephemeralLeaseSeconds,
    retryLimit: config.ephemeralRetryLimit,
  });
}
