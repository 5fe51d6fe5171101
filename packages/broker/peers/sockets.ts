/**
 * The peer port over TCP: a listener for what other nodes send, and per peer and channel one
 * connection of its own for what this node sends, so that neither a snapshot nor a long append
 * stands before a heartbeat. Answers to calls go back by the connection of the call.
 */

import type { Socket } from 'node:net';
import { type HostAndPort, hostAndPortText } from '../config/addresses.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { type ConnectionLimits, type LossReason, PEER_TICK_MS } from './connection.js';
import { type DownReason, PeerDialer } from './dialer.js';
import { DIALED_CHANNELS, type DialedChannel } from './handshake.js';
import { type ListenerRefusal, PeerListener } from './listener.js';
import { PeerLookup } from './lookup.js';
import type { PeerChannel, PeerPort } from './port.js';

export interface PeerAddress extends HostAndPort {
  readonly node: number;
}

export interface PeerSocketsOptions {
  readonly self: number;
  /** SVC_RAFT_TOKEN; empty: whoever reaches the port is believed. */
  readonly token: string;
  /** 16 bytes; zeros until this node belongs to a cluster. */
  readonly cluster: () => Uint8Array;
  /** No entry of the log is larger, and no command. */
  readonly entryBytesMax: number;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly lookup?: PeerLookup;
  /** Takes connections that begin like HTTP; without it they are refused as garbage is. */
  readonly onHttp?: (socket: Socket) => void;
}

/** A vote, a heartbeat or an acknowledgement has less than a hundred bytes. */
const CONTROL_FRAME_BYTES_MAX = 64 * 1024;
const CONTROL_QUEUE_BYTES_MAX = 1024 * 1024;
/** Beside its largest part a frame holds an append's worth of others, or a chunk of rows. */
const FRAME_SLACK_BYTES = 8 * 1024 * 1024;
/** As much as consensus lets be in flight to one peer; one more frame always fits beside it. */
const QUEUE_BYTES_MAX = 64 * 1024 * 1024;
/** A reason is told again when it has not been for this long. */
const REPEAT_MS = 30_000;
/** A connection that is missing for a moment is not worth a line. */
const TOLD_DOWN_TICKS = 2;
const CLOSE_MS_MAX = 500;

type Counted = ListenerRefusal | DownReason | LossReason | 'dropped' | 'port_failed';

interface Peer {
  readonly address: PeerAddress;
  readonly dialers: ReadonlyMap<PeerChannel, PeerDialer>;
  /** Why there is no connection, and for how many ticks there has been none. */
  cause: string;
  downTicks: number;
  /** What was told of it last, and when it was told that there is none. */
  toldUp: boolean;
  toldDownAtMs: number;
}

export class PeerSockets implements PeerPort {
  onFrame: PeerPort['onFrame'] = () => {};
  onUnreachable: PeerPort['onUnreachable'] = () => {};
  readonly #options: PeerSocketsOptions;
  readonly #limits: { readonly [channel in DialedChannel]: ConnectionLimits };
  readonly #lookup: PeerLookup;
  readonly #listener: PeerListener;
  readonly #peers = new Map<number, Peer>();
  readonly #counters = new Map<Counted, number>();
  /** When each reason was last told, and how often it was not since. */
  readonly #told = new Map<string, { readonly atMs: number; untold: number }>();
  readonly #cancelTick: Cancel;
  #closed = false;

  constructor(options: PeerSocketsOptions) {
    this.#options = options;
    this.#lookup = options.lookup ?? new PeerLookup();
    const frameBytesMax = options.entryBytesMax + FRAME_SLACK_BYTES;
    const queueBytesMax = frameBytesMax + QUEUE_BYTES_MAX;
    const large: ConnectionLimits = { frameBytesMax, queueBytesMax, gathering: 'step' };
    const control: ConnectionLimits = {
      frameBytesMax: CONTROL_FRAME_BYTES_MAX,
      queueBytesMax: CONTROL_QUEUE_BYTES_MAX,
      gathering: 'step',
    };
    const calls: ConnectionLimits = { ...large, gathering: 'turn' };
    this.#limits = { control, consensus: large, bulk: large, calls };
    this.#listener = new PeerListener({
      ...options,
      limits: this.#limits,
      onFrame: (from, channel, frame) => this.onFrame(from, channel, frame),
      onOpen: (from) => this.#heardOf(from),
      onLost: (from, channel, why) => this.#lostIncoming(from, channel, why),
      onRefused: (reason, address) => this.#refused(reason, address),
      onError: (error) => this.#portFailed(error),
    });
    this.#cancelTick = options.clock.every(PEER_TICK_MS, () => this.#tick());
  }

  /** Resolves with the port (another one than asked for when that was 0). */
  listen(host: string, port: number): Promise<number> {
    return this.#listener.listen(host, port);
  }

  /** The nodes that may be sent to; connections to others, and to other addresses, are closed. */
  setPeers(addresses: readonly PeerAddress[]): void {
    for (const [node, peer] of this.#peers) {
      const next = addresses.find((each) => each.node === node);
      const same = next?.host === peer.address.host && next.port === peer.address.port;
      if (!same) this.#drop(node, peer);
    }
    for (const address of addresses) {
      if (address.node !== this.#options.self && !this.#peers.has(address.node)) {
        this.#add(address);
      }
    }
  }

  send(to: number, channel: PeerChannel, parts: readonly Uint8Array[], sent?: () => void): boolean {
    const taken =
      channel === 'answers'
        ? this.#listener.send(to, 'calls', parts)
        : (this.#peers.get(to)?.dialers.get(channel)?.send(parts, sent) ?? false);
    if (!taken) this.#count('dropped');
    return taken;
  }

  /** Whether frames of this channel can leave for the node now. */
  isUp(node: number, channel: DialedChannel): boolean {
    return this.#peers.get(node)?.dialers.get(channel)?.isUp ?? false;
  }

  /**
   * To be called when `cluster()` has another value: what was dialed or let in before is looked at
   * again. It is also done by and by.
   */
  clusterChanged(): void {
    for (const dialer of this.#dialers()) dialer.checkCluster();
    this.#listener.checkCluster();
  }

  /** What was refused, broke or was dropped, by reason. */
  counters(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counters);
  }

  /** Sends what waits, for a short time, and closes. Nothing is told any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTick();
    for (const dialer of this.#dialers()) dialer.close(CLOSE_MS_MAX);
    this.#peers.clear();
    await this.#listener.close(CLOSE_MS_MAX);
  }

  #dialers(): PeerDialer[] {
    return [...this.#peers.values()].flatMap(({ dialers }) => [...dialers.values()]);
  }

  #tick(): void {
    this.clusterChanged();
    for (const dialer of this.#dialers()) dialer.tick();
    this.#listener.tick();
    for (const peer of this.#peers.values()) this.#tellState(peer);
  }

  #add(address: PeerAddress): void {
    const { node, host, port } = address;
    const { self, token, cluster, clock, random } = this.#options;
    const shared = { self, peer: node, host, port, token, cluster, clock, random };
    const dialers = DIALED_CHANNELS.map((channel): [PeerChannel, PeerDialer] => [
      channel,
      new PeerDialer({
        ...shared,
        channel,
        limits: this.#limits[channel],
        lookup: this.#lookup.forSocket,
        // Only a call is answered on the connection that it left by.
        onFrame: (frame) => {
          if (channel === 'calls') this.onFrame(node, 'answers', frame);
        },
        onDown: (why, detail) => this.#down(node, channel, why, detail),
      }),
    ]);
    const untold = { cause: '', downTicks: 0, toldUp: false, toldDownAtMs: -REPEAT_MS };
    this.#peers.set(node, { address, dialers: new Map(dialers), ...untold });
  }

  #drop(node: number, peer: Peer): void {
    this.#peers.delete(node);
    for (const [channel, dialer] of peer.dialers) {
      dialer.close(CLOSE_MS_MAX);
      this.onUnreachable(node, channel);
    }
  }

  /** It is there: whoever waits to dial it again need not. */
  #heardOf(node: number): void {
    for (const dialer of this.#peers.get(node)?.dialers.values() ?? []) dialer.hurry();
  }

  #down(node: number, channel: DialedChannel, why: DownReason, detail: string): void {
    if (this.#closed) return;
    this.#count(why);
    const peer = this.#peers.get(node);
    if (peer !== undefined) peer.cause = detail === '' ? why : `${why} (${detail})`;
    this.onUnreachable(node, channel);
  }

  /** A node that comes and goes every second gets two lines now and then. */
  #tellState(peer: Peer): void {
    const { clock, logger } = this.#options;
    const where = `node ${peer.address.node} at ${hostAndPortText(peer.address)}`;
    if (peer.dialers.get('control')?.isUp) {
      peer.downTicks = 0;
      if (!peer.toldUp) logger.info('peer', `connected to ${where}`);
      peer.toldUp = true;
      return;
    }
    peer.downTicks++;
    // While the first dial goes on there is no cause yet.
    if (peer.cause === '' || peer.downTicks < TOLD_DOWN_TICKS) return;
    if (clock.nowMs() - peer.toldDownAtMs < REPEAT_MS) return;
    peer.toldUp = false;
    peer.toldDownAtMs = clock.nowMs();
    logger.warn('peer', `no connection to ${where}: ${peer.cause}`);
  }

  #lostIncoming(from: number, channel: DialedChannel, why: LossReason): void {
    if (this.#closed) return;
    this.#count(why);
    if (why !== 'closed' && why !== 'replaced') {
      this.#tell(`from ${why}`, `ended the connection of node ${from}: ${why}`);
    }
    if (channel === 'calls') this.onUnreachable(from, 'answers');
  }

  #refused(reason: ListenerRefusal, address: string): void {
    if (this.#closed) return;
    this.#count(reason);
    // By the reason alone: strangers have many addresses.
    this.#tell(`refused ${reason}`, `refused a connection from ${address}: ${reason}`);
  }

  #portFailed(error: Error): void {
    this.#count('port_failed');
    this.#tell('port', `the port for the other nodes failed: ${error.message}`);
  }

  #count(reason: Counted): void {
    this.#counters.set(reason, (this.#counters.get(reason) ?? 0) + 1);
  }

  #tell(key: string, text: string): void {
    const nowMs = this.#options.clock.nowMs();
    const last = this.#told.get(key);
    if (last !== undefined && nowMs - last.atMs < REPEAT_MS) {
      last.untold++;
      return;
    }
    const untold = last?.untold ?? 0;
    this.#told.set(key, { atMs: nowMs, untold: 0 });
    const more = untold === 0 ? '' : ` (and ${untold} more since the last line)`;
    this.#options.logger.warn('peer', text + more);
  }
}
