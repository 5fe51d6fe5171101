/**
 * The program of a front thread: the HTTP server of `@svc/http` on a port that all front threads
 * share, with the core thread for a broker, and the port of the gateway, with the core's gateway
 * behind it.
 *
 * How it ends matters to the whole process. The native layer keeps its sockets in the loop of the
 * thread, and Node aborts the process when a loop is closed that still has some: a thread may only
 * go once it has closed all of them and its loop has run a few turns more. So it ends by itself,
 * also after an error that nobody has caught, and is never terminated. What no program survives
 * ends the process, as it does without threads: memory that runs out, a fault of native code.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type ConnectionBounds, createServer, ListenError, type Service } from '@svc/http';
import { type Meters, newMeters } from '@svc/wire';
import { type Clock, SystemClock } from '../system/clock.js';
import { readCrashSetting } from '../system/crash-points.js';
import { createLogger, type Logger } from '../system/logging.js';
import type { TokenAuthenticator } from '../tokens/authenticator.js';
import { Channel } from './channel.js';
import { trustedProxiesOf } from './connection-bounds.js';
import { authenticatorFor, dividedLimits, frontOptions } from './front-options.js';
import { GatewayPort } from './gateway-port.js';
import { RemoteService } from './remote-service.js';
import {
  FRONT_TIMES,
  type Listening,
  type Place,
  type Places,
  type ThreadData,
  type ThreadOrder,
  type ThreadReport,
  WAKE,
} from './thread-data.js';
import { callsParts, TO_CORE } from './thread-frames.js';

const TIMES_EVERY_MS = 1000;
/** Turns of the loop in which closed sockets leave it: three are needed. */
const LAST_TURNS = 20;

export function isFrontThread(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'isFrontThread' in data;
}

export function runFrontThread(): void {
  const data = workerData as ThreadData;
  const clock = new SystemClock();
  const logger = createLogger(data.config.logging);
  const thread = new FrontThreadProgram(data, clock, logger);
  process.on('uncaughtException', (error) => thread.fail(error));
  parentPort?.on('message', (order: ThreadOrder) => thread.obey(order));
  report({ kind: 'ready' });
}

function report(one: ThreadReport): void {
  parentPort?.postMessage(one);
}

function reportFull(open: number, refused: number): void {
  report({ kind: 'full', open, refused });
}

class FrontThreadProgram {
  readonly #data: ThreadData;
  readonly #meters: Meters = newMeters();
  /** The counts that the core has been told. */
  readonly #told = { ...this.#meters.calls };
  readonly #channel: Channel;
  readonly #authenticator: TokenAuthenticator | null;
  readonly #server: ReturnType<typeof createServer>;
  /** null: there is no gateway. */
  readonly #gateway: GatewayPort | null;
  readonly #stopTelling: () => void;
  #isEnding = false;

  constructor(data: ThreadData, clock: Clock, logger: Logger) {
    const { config } = data;
    this.#data = data;
    const crash = readCrashSetting(process.env.SVC_CRASH_AT, () => {
      throw new Error('SVC_CRASH_AT');
    });
    this.#channel = new Channel({
      outward: data.toCore,
      inward: data.toThread,
      wake: () => report(WAKE),
      soon: setImmediate,
      nowMs: () => clock.nowMs(),
      onFrame: (kind, id, content) => {
        if (crash.kind === 'armed') crash.reachInThread?.('front-thread');
        service.received(kind, id, content);
      },
      beforePublish: () => this.#tellCalls(),
    });
    const nowMs = () => clock.nowMs();
    const service = new RemoteService(this.#channel, nowMs, () => this.#tellCalls());
    this.#authenticator = authenticatorFor({ config, clock, logger });
    this.#server = createServer(
      {
        ...frontOptions({ config, logger }),
        ...dividedLimits(data.threads),
        authenticator: this.#authenticator,
        meters: this.#meters,
        connections: boundsOf(data),
        onConnectionsFull: reportFull,
        sharesPort: true,
        elsewhere: service,
      },
      // Routes that ask for more of the broker are served elsewhere.
      service as unknown as Service,
    );
    this.#gateway = this.#gatewayPort(service, nowMs, logger);
    this.#stopTelling = clock.every(TIMES_EVERY_MS, () => this.#tellAll());
    this.#channel.open();
  }

  #gatewayPort(core: RemoteService, nowMs: () => number, logger: Logger): GatewayPort | null {
    const { places, threads } = this.#data;
    if (places.gateway === null) return null;
    return new GatewayPort({
      ...dividedLimits(threads),
      core,
      nowMs,
      logger: {
        error: (text, error) => logger.error('gateway', text, { error: String(error) }),
      },
      tls: places.gateway.tls,
      connections: boundsOf(this.#data),
      onConnectionsFull: reportFull,
    });
  }

  async #listen({ plain, gateway }: Places): Promise<void> {
    // First: whoever asks the plain port for the node's health asks whether it serves.
    const gatewayPort = await this.#listenAt(gateway, this.#gateway);
    const plainPort = await this.#listenAt(plain, this.#server);
    if (gatewayPort === undefined || plainPort === undefined) return;
    const ports: Listening = { plain: plainPort, gateway: gatewayPort };
    report({ kind: 'listening', ports });
  }

  /** null: it is not served. Undefined: it cannot be, and the thread ends. */
  async #listenAt(
    place: Place | null,
    server: Pick<GatewayPort, 'listen'> | null,
  ): Promise<number | null | undefined> {
    if (place === null || server === null || this.#isEnding) return null;
    const { host, port } = place;
    try {
      return await server.listen(host, port);
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      report({ kind: 'not-listening', code: error.code, why: error.why, host, port });
      await this.#endNow();
      return undefined;
    }
  }

  obey(order: ThreadOrder): void {
    if (order === WAKE) this.#channel.woken();
    else if (order.kind === 'listen') void this.#listen(order.places);
    else if (order.kind === 'retire') {
      this.#server.retire();
      this.#gateway?.retire();
    } else if (order.kind === 'stop') void this.#end(order.drainMs);
    else void this.#endNow();
  }

  fail(error: Error): void {
    report({ kind: 'failed', error: error.stack ?? error.message });
    void this.#endNow();
  }

  #endNow(): Promise<void> {
    this.#channel.close();
    return this.#end(0);
  }

  async #end(drainMs: number): Promise<void> {
    const gatewayMs = Math.min(drainMs, this.#data.config.gatewayDrainMs);
    const stopped = Promise.all([this.#server.stop(drainMs), this.#gateway?.stop(gatewayMs)]);
    if (this.#isEnding) return;
    this.#isEnding = true;
    await stopped;
    this.#stopTelling();
    this.#tellAll();
    this.#authenticator?.close();
    for (let turn = 0; turn < LAST_TURNS; turn++) await new Promise(setImmediate);
    const ended = new Int32Array(this.#data.ended);
    Atomics.store(ended, 0, 1);
    Atomics.notify(ended, 0);
    process.exit(0);
  }

  #tellCalls(): void {
    const parts = callsParts(this.#meters.calls, this.#told);
    if (parts !== null) this.#channel.send(TO_CORE.calls, 0, parts);
  }

  #tellAll(): void {
    this.#tellCalls();
    const { pipeline } = this.#meters;
    report({ kind: 'times', parts: FRONT_TIMES.map((name) => pipeline[name].take()) });
  }
}

function boundsOf({ config, connections }: ThreadData): ConnectionBounds {
  return { ...connections, isTrustedProxy: trustedProxiesOf(config) };
}
