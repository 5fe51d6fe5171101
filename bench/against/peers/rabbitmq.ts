// RabbitMQ: a quorum queue, or the classic queue that is its default. All its files lie in a
// directory of ours, and its name service (epmd) runs as a child of ours on a port of its own, so
// that neither touches nor outlives anything else.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@svc/test';
import type { System } from '../../load/system.js';
import { nameOf, type PeerPlan } from '../peer.js';
import { ServerProcess } from '../server-process.js';

/** The server itself, and not the program of the same name that changes the user first. */
const SERVER = '/usr/lib/rabbitmq/bin/rabbitmq-server';

export const RABBITMQ_NEEDS = [
  { program: SERVER, debianPackage: 'rabbitmq-server' },
  { program: 'epmd', debianPackage: 'erlang-base' },
];

const LABEL =
  'one queue, persistent messages, publisher confirms; prefetch of at least 100, an ack for a ' +
  'batch, not answered';
const LABELS = {
  durable: 'quorum queue; confirmed = synced by a majority of its nodes',
  defaults: 'classic durable queue; confirmed = written, synced now and then',
} as const;

export async function startRabbitmq(plan: PeerPlan): Promise<System> {
  const { scratch, program, queue, setting, nodes } = plan;
  const directory = scratch.directory('rabbitmq');
  const names = await startNames(plan, directory);
  const ports: number[] = [];
  const servers: ServerProcess[] = [];
  // The first one forms the cluster; the others find it.
  for (let i = 0; i < nodes; i += 1) {
    const server = await startNode(plan, directory, i + 1, names.plan.port);
    ports.push(server.plan.port);
    servers.push(server);
  }
  const kind = setting === 'durable' ? 'quorum' : 'classic';
  const target = { protocol: 'amqp', ports, queue, kind } as const;
  const version = /Starting RabbitMQ ([\d.]+)/.exec(servers[0]?.log() ?? '')?.[1] ?? 'unknown';
  return {
    name: nameOf('rabbitmq', setting),
    about: `${version}, ${LABEL}; ${LABELS[setting]}`,
    target,
    pids: [...servers, names].map((server) => server.pid),
    create: () => program.administer('create', target),
    remove: () => program.administer('remove', target),
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
      await names.stop();
      scratch.remove(directory);
    },
  };
}

async function startNames({ scratch }: PeerPlan, directory: string): Promise<ServerProcess> {
  const port = await freePort();
  return ServerProcess.start(
    {
      program: 'epmd',
      arguments: ['-port', `${port}`, '-address', '127.0.0.1'],
      environment: {},
      user: null,
      port,
      logFile: join(directory, 'epmd.log'),
      endSignal: 'SIGKILL',
    },
    scratch,
  );
}

async function startNode(
  { scratch, nodes }: PeerPlan,
  directory: string,
  number: number,
  namesPort: number,
): Promise<ServerProcess> {
  const home = join(directory, `node-${number}`);
  const port = await freePort();
  mkdirSync(home);
  writeFileSync(join(home, '.erlang.cookie'), 'bench', { mode: 0o400 });
  writeFileSync(join(home, 'enabled_plugins'), '[].\n');
  const members = Array.from(
    { length: nodes },
    (_, i) => `cluster_formation.classic_config.nodes.${i + 1} = bench${i + 1}@localhost\n`,
  );
  writeFileSync(
    join(home, 'rabbitmq.conf'),
    `listeners.tcp.1 = 127.0.0.1:${port}\n` +
      'cluster_formation.peer_discovery_backend = classic_config\n' +
      'cluster_formation.randomized_startup_delay_range.min = 0\n' +
      `cluster_formation.randomized_startup_delay_range.max = 0\n${members.join('')}`,
  );
  return ServerProcess.start(
    {
      program: SERVER,
      arguments: [],
      environment: {
        HOME: home,
        ERL_EPMD_PORT: `${namesPort}`,
        RABBITMQ_NODENAME: `bench${number}@localhost`,
        RABBITMQ_DIST_PORT: `${await freePort()}`,
        RABBITMQ_MNESIA_BASE: join(home, 'mnesia'),
        RABBITMQ_LOG_BASE: home,
        RABBITMQ_LOGS: '-',
        RABBITMQ_CONFIG_FILE: join(home, 'rabbitmq.conf'),
        RABBITMQ_CONF_ENV_FILE: join(home, 'no-environment'),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(home, 'enabled_plugins'),
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
        // The script becomes the server instead of starting it, so that our pid is the server's.
        RUNNING_UNDER_SYSTEMD: 'true',
      },
      user: null,
      port,
      logFile: join(home, 'log'),
      endSignal: 'SIGKILL',
    },
    scratch,
  );
}
