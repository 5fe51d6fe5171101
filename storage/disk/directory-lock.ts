/**
 * One process per directory. Each process that wants it listens on a Unix socket of its own in the
 * directory and then looks for others. The kernel closes a socket with its process, kill -9
 * included, so a lock cannot outlive its holder; and a socket is found by its file, so two
 * containers that share the directory exclude each other, which no process id can do.
 *
 * Why two can never both hold it: each listens before it looks, so the one that looks later sees
 * the other and gives up. Names are never used twice, so a socket without a listener can be removed
 * by anyone at any time; with one fixed name the removal of a stale socket may hit the one that has
 * just replaced it. Two that start at the same moment may both give up.
 */
import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import * as net from 'node:net';
import type { DirectoryLock } from './disk.js';
import { LockedError } from './faults.js';

const LOCK_NAME = /^lock-[0-9a-f-]{36}\.socket$/;
const LOCK_NAME_LENGTH = 48;
/** A socket address holds 108 bytes on Linux, 104 elsewhere, with its terminator. */
const ADDRESS_BYTES_MAX = 100;

/** Where names of the directory are addressed; `descriptor` keeps a long path reachable. */
interface AddressBase {
  readonly prefix: string;
  readonly descriptor: number | null;
}

export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const base = addressBase(directory);
  let server: net.Server | null = null;
  try {
    const name = `lock-${randomUUID()}.socket`;
    server = await listen(`${base.prefix}/${name}`);
    for (const other of fs.readdirSync(directory)) {
      if (!LOCK_NAME.test(other) || other === name) continue;
      if (await answers(`${base.prefix}/${other}`)) throw new LockedError(directory);
      fs.rmSync(`${directory}/${other}`, { force: true });
    }
  } catch (error) {
    await release(server, base);
    throw error;
  }
  return { release: () => release(server, base) };
}

/** Goes through a descriptor of the directory when its path is too long for an address. */
function addressBase(directory: string): AddressBase {
  if (Buffer.byteLength(directory) + 1 + LOCK_NAME_LENGTH <= ADDRESS_BYTES_MAX) {
    return { prefix: directory, descriptor: null };
  }
  const descriptor = fs.openSync(directory, 'r');
  return { prefix: `/proc/self/fd/${descriptor}`, descriptor };
}

function listen(address: string): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      // A connection that cannot be accepted, for want of file descriptors, was somebody who asks
      // whether the directory is held. The kernel has told them already.
      server.on('error', () => undefined);
      server.unref();
      resolve(server);
    });
  });
}

/** Whether a living process listens there. */
function answers(address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(address);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      // Too many wait to be accepted: somebody listens.
      else if (error.code === 'EAGAIN') resolve(true);
      else reject(error);
    });
  });
}

/** Closing the server removes its socket file. */
async function release(server: net.Server | null, base: AddressBase): Promise<void> {
  if (server !== null) await new Promise((resolve) => server.close(resolve));
  if (base.descriptor !== null) fs.closeSync(base.descriptor);
}
