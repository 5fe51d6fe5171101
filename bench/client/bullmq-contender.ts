// BullMQ on a Redis that syncs each write before it answers, with the settings its manual gives:
// jobs are added in bulks, a worker has the concurrency that is measured, and what is done is
// removed.

import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { DURABLE_REDIS, redisServer } from '../against/peers/redis.js';
import type { Scratch } from '../rig/scratch.js';
import { BATCH, type Contender, type ContenderPlan } from './contender.js';

const LOOK_MS = 5;

export async function bullmqContender(scratch: Scratch, plan: ContenderPlan): Promise<Contender> {
  const redis = await redisServer(scratch, DURABLE_REDIS);
  const connection = { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null };
  const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
  const pushed = new Queue('pushed', { connection, defaultJobOptions });
  const consumed = new Queue('consumed', { connection, defaultJobOptions });
  const jobs = plan.payloads.map((text) => ({ name: 'job', data: JSON.parse(text) as unknown }));
  const pushThrough = async (isOver: () => boolean): Promise<number> => {
    let messages = 0;
    while (!isOver()) messages += (await pushed.addBulk(jobs)).length;
    return messages;
  };
  return {
    name: 'BullMQ on Redis',
    pids: [redis.server.pid],
    push: async (isOver) => {
      const producers = Array.from({ length: plan.producers }, () => pushThrough(isOver));
      const messages = (await Promise.all(producers)).reduce((sum, one) => sum + one, 0);
      await pushed.obliterate({ force: true });
      return messages;
    },
    fill: async (messages) => {
      for (let stored = 0; stored < messages; stored += BATCH) await consumed.addBulk(jobs);
    },
    consume: async (messages) => {
      let done = 0;
      const { concurrency } = plan;
      const worker = new Worker('consumed', () => Promise.resolve(), { connection, concurrency });
      worker.on('completed', () => {
        done += 1;
      });
      while (done < messages) await sleep(LOOK_MS);
      await worker.close();
    },
    stop: async () => {
      await Promise.all([pushed.close(), consumed.close()]);
      await redis.stop();
    },
  };
}
