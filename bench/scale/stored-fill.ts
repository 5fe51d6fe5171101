// Makes the data directory of a node that stores very many bytes, with the broker's own code: the
// engine plans and applies, the log and the checkpoint are written as ever. Only two things differ
// from a node that was filled over HTTP: the commands are put in below the HTTP front, because the
// payloads are zeros, which are no JSON; and the disk leaves zeros out (sparse-disk.ts). What comes
// out is opened by an ordinary node, which reads and verifies it like any other. Nobody must ask it
// for the payloads.

import {
  createLogger,
  type Node,
  openNode,
  readConfig,
  SystemClock,
  SystemRandom,
} from '@svc/broker';
import { RealDisk } from '@svc/storage';
import { SparseDisk } from './sparse-disk.js';

export interface FillPlan {
  readonly directory: string;
  readonly bytes: number;
  /** Told now and then. */
  readonly onProgress: (storedBytes: number) => void;
}

/** An append each: as many rows as batches of 1,000 small messages would make. */
const PAYLOAD_BYTES = 262_144;
const PARTITIONS = 64;
const PAYLOADS_PER_PUSH = 16;
const IN_FLIGHT = 4;
const PROGRESS_BYTES = 5e9;
const TENANT = '00000000-0000-0000-0000-000000000001';
const BODY = new Uint8Array(PAYLOAD_BYTES);

export function appendsOf(bytes: number): number {
  return Math.ceil(bytes / PAYLOAD_BYTES);
}

/** Resolves when everything is on the disk and the node is stopped. */
export async function fillStore(plan: FillPlan): Promise<void> {
  const config = readConfig({ SVC_RAFT_DIR: plan.directory });
  if (config.kind === 'refused') throw new Error(config.error);
  let failed: (error: Error) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    failed = reject;
  });
  const node = await openNode({
    config,
    disk: new SparseDisk(new RealDisk()),
    clock: new SystemClock(),
    random: new SystemRandom(),
    logger: createLogger({ level: 'error', json: false }),
    crash: { kind: 'unarmed', reach: () => {} },
    onFatal: failed,
  });
  await Promise.race([failure, new Promise<void>((serving) => node.join(serving))]);
  await Promise.race([failure, pushAll(node, appendsOf(plan.bytes), plan)]);
  await node.stop();
}

async function pushAll(node: Node, appends: number, plan: FillPlan): Promise<void> {
  let next = 0;
  let told = 0;
  const pusher = async () => {
    while (next < appends) {
      const first = next;
      next = Math.min(appends, next + PAYLOADS_PER_PUSH);
      await push(node, first, next - first);
      if (first * PAYLOAD_BYTES >= told + PROGRESS_BYTES) {
        told = first * PAYLOAD_BYTES;
        plan.onProgress(told);
      }
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, pusher));
}

interface Answered {
  readonly kind: string;
  readonly refusal?: { readonly reason: string };
}

/** One payload each for so many partitions, round robin. */
function push(node: Node, first: number, count: number): Promise<void> {
  const groups = Array.from({ length: count }, (_, i) => ({
    queue: 'stored',
    partition: `p${(first + i) % PARTITIONS}`,
  }));
  const command = {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body: BODY,
    groups,
    itemGroup: groups.map((_, i) => i),
    transactionIds: groups.map(() => null),
    payloadStart: groups.map(() => 0),
    payloadEnd: groups.map(() => PAYLOAD_BYTES),
  } as const;
  return new Promise((resolve, reject) => {
    const send = (outcome: Answered) => {
      // A machine with other things to do may miss a deadline: one push more or less is no matter.
      if (outcome.kind === 'pushed' || outcome.refusal?.reason === 'timeout') resolve();
      else reject(new Error(`a push was answered ${JSON.stringify(outcome)}`));
      return true;
    };
    node.broker.submit(command, { gone: false, onGone: null, send });
  });
}
