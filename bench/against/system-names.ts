// What the systems are called in what people read.

import type { SystemName } from './result.js';

export const SYSTEM_NAMES: { readonly [name in SystemName]: string } = {
  ours: 'svc',
  nats: 'NATS JetStream',
  rabbitmq: 'RabbitMQ',
  redis: 'Redis Streams',
  postgres: 'PostgreSQL',
};
