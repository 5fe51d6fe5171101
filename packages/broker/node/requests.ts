/** How an opened node carries out commands and serves reads: what of it both need. */
import { newRequestSession } from '@svc/engine';
import { NO_NODE } from '@svc/raft';
import type { OpenDirectory } from '../directory/node-directory.js';
import { StateReads } from '../reads/state-reads.js';
import { type Forwarding, Leadership } from '../requests/leadership.js';
import type { NodeLayers } from './layers.js';
import type { NodeOptions } from './options.js';

export function newReads(
  { clock, logger }: NodeOptions,
  { stateless }: OpenDirectory,
  layers: NodeLayers,
): StateReads {
  const { consensus, deadlines } = layers;
  const source = {
    stateless,
    get leadsAlone() {
      return consensus.leadsAlone;
    },
    get isLed() {
      return consensus.leader !== NO_NODE;
    },
    isMember: () => layers.isMember,
    read: (done: (confirmed: boolean) => void) => consensus.read(done),
  };
  return new StateReads(source, clock, deadlines.writeMs, ({ message }) =>
    logger.error('boot', message),
  );
}

export function newLeadership(
  options: NodeOptions,
  parts: OpenDirectory,
  layers: NodeLayers,
): Leadership {
  const { consensus, reads, admission, meters, gate } = layers;
  return new Leadership({
    clock: options.clock,
    nodeId: parts.identity.nodeId,
    consensus,
    reads,
    forwarding: forwardingOf(options, parts),
    admission,
    appliedIndex: () => layers.appliedIndex,
    isMember: () => layers.isMember,
    refusal: (command) => gate.refusal(command),
    pipeline: meters.pipeline,
  });
}

function forwardingOf(
  { config, calls = null, random }: NodeOptions,
  { self }: OpenDirectory,
): Forwarding | null {
  if (calls === null) return null;
  const word = () => Math.floor(random.fraction() * 2 ** 32);
  const session = newRequestSession(self, word(), word());
  return { calls, session, inFlightMax: config.forwardInFlightMax };
}
