// What the other systems have in common.

import type { Peer, Setting } from '../load/options.js';
import type { SystemPlan } from '../load/system.js';

export interface PeerPlan extends SystemPlan {
  readonly setting: Setting;
}

/** What a peer needs of the machine: a program, and the Debian package that has it. */
export interface Requirement {
  readonly program: string;
  readonly debianPackage: string;
}

const NAMES: { readonly [name in Peer]: string } = {
  nats: 'NATS JetStream',
  rabbitmq: 'RabbitMQ',
  redis: 'Redis Streams',
  postgres: 'PostgreSQL',
};

export function nameOf(peer: Peer, setting: Setting): string {
  return setting === 'durable' ? NAMES[peer] : `${NAMES[peer]}, defaults`;
}
