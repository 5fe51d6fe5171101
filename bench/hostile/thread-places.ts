// Which thread of a node serves a connection. The kernel spreads the connections of a shared port
// over the threads that listen on it, and tells nobody how; but each thread waits for its sockets
// by an epoll instance of its own, whose files the kernel lists.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** An epoll instance of the process, by its file descriptor. */
export type Loop = number;

const ESTABLISHED = '01';

/** For the port of each client that the process has accepted, the loop that waits for it. */
export function loopsOfClients(pid: number, port: number): ReadonlyMap<number, Loop> {
  const loops = new Map<number, Loop>();
  const descriptors = new Map<string, number>();
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    const target = linkOf(`/proc/${pid}/fd/${name}`);
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined) descriptors.set(inode, Number(name));
    if (target !== 'anon_inode:[eventpoll]') continue;
    for (const [, file = ''] of textOf(`/proc/${pid}/fdinfo/${name}`).matchAll(/^tfd: +(\d+)/gm)) {
      loops.set(Number(file), Number(name));
    }
  }
  const clients = new Map<number, Loop>();
  for (const line of textOf('/proc/net/tcp').split('\n').slice(1)) {
    const [, local = '', remote = '', state, , , , , , inode = ''] = line.trim().split(/\s+/);
    if (portOf(local) !== port || state !== ESTABLISHED) continue;
    const loop = loops.get(descriptors.get(inode) ?? -1);
    if (loop !== undefined) clients.set(portOf(remote), loop);
  }
  return clients;
}

/** Numbers of the calls of the kernel that wait for an epoll instance, on x64 and arm64. */
const EPOLL_WAITS: ReadonlySet<string> = new Set(['232', '281', '22']);

/** The number of the thread that waits for this loop now; null: none does. */
export function threadOfLoop(pid: number, loop: Loop): number | null {
  for (const name of readdirSync(`/proc/${pid}/task`)) {
    const [call = '', first] = textOf(`/proc/${pid}/task/${name}/syscall`).split(' ');
    if (EPOLL_WAITS.has(call) && Number(first) === loop) return Number(name);
  }
  return null;
}

/** The port that `0100007F:1F90` names. */
function portOf(address: string): number {
  return Number.parseInt(address.split(':')[1] ?? '', 16);
}

/** Files come and go meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
