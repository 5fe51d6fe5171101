/**
 * The follower of a node (packages/standby/follower.ts) with its clock, its connections and its
 * lines in the log. It runs while this node leads a standby: `lead` and `yield`.
 *
 * What must hold: of each call something arrives within `SILENCE_MS`, or it fails. A call that the
 * follower has paused, because the standby is full, is silent for its sake and does not fail. An
 * answer is handed on as it arrives, so a follower never waits for the end of one.
 */
import {
  type AnswerEnd,
  AnswerReader,
  encodeReadRequest,
  Follower,
  type FollowerPort,
  type FollowerView,
  READ_PATH,
  type ReadRequest,
  type StandbyLeadership,
  unreadText,
} from '@svc/standby';
import { lastingCrc } from '@svc/storage';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { type SourceCall, type SourcePort, urlOf } from './source-port.js';

/** A source holds a read for 2 s at most; the rest is for a slow network. */
const SILENCE_MS = 22_000;
/** A read that brings less in that time brings next to nothing: another node may do better. */
const SLOW_BYTES = 4096;
/** The same trouble is told again after this long. */
const TELL_AGAIN_MS = 60_000;

/** The leadership of a standby; `onRoom` is called when it takes entries again. */
export interface FollowingOffice extends StandbyLeadership {
  onRoom: () => void;
}

export interface FollowerDriverOptions {
  /** `host:port` of the source's nodes, at least one. */
  readonly sources: readonly string[];
  /** `SVC_LINK_NAME`; null: `standby-<id>`. */
  readonly name: string | null;
  /** The cluster id of this cluster. */
  readonly cluster: string;
  /** Bytes that an entry of the source may have, to be received. */
  readonly entryBytesMax: number;
  readonly port: SourcePort;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Call {
  readonly connection: SourceCall;
  readonly address: string;
  isPaused: boolean;
  /** When something arrived last. */
  heardMs: number;
  /** Bytes that arrived since it was looked at. */
  bytes: number;
  cancelSilence: Cancel;
}

export class FollowerDriver {
  readonly #options: FollowerDriverOptions;
  readonly #follower: Follower;
  readonly #calls = new Map<number, Call>();
  #office: FollowingOffice | null = null;
  #dueMs = Number.POSITIVE_INFINITY;
  #cancelTick: Cancel = () => {};
  #told = { state: 'idle', error: '', atMs: 0 };

  constructor(options: FollowerDriverOptions) {
    const { sources, name, cluster } = options;
    this.#options = options;
    const port: FollowerPort = {
      read: (call, address, request) => this.#read(call, address, request),
      pause: (call) => this.#pause(call),
      resume: (call) => this.#resume(call),
      cancel: (call) => this.#take(call)?.connection.close(),
    };
    this.#follower = new Follower({ sources, name, cluster }, port);
  }

  /** This node leads a standby. */
  lead(office: FollowingOffice): void {
    this.yield();
    this.#office = office;
    office.onRoom = () => this.#tell((nowMs) => this.#follower.room(nowMs));
    this.#tell((nowMs) => this.#follower.lead(office, nowMs));
  }

  /** It does not any more, or the cluster is no standby any more. */
  yield(): void {
    if (this.#office !== null) this.#office.onRoom = () => {};
    this.#office = null;
    this.#follower.yield();
    this.#cancelTick();
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#told = { state: 'idle', error: '', atMs: 0 };
  }

  close(): void {
    this.yield();
    this.#options.port.close();
  }

  /** For the status view. `applied`: the position in the state of this node. */
  view(applied: { readonly index: number; readonly stampUs: number }): FollowerView {
    const { clock } = this.#options;
    return this.#follower.view(clock.nowMs(), clock.wallUs(), applied);
  }

  // --- calls -------------------------------------------------------------------------------------

  #read(id: number, address: string, request: ReadRequest): void {
    const { clock, port, entryBytesMax } = this.#options;
    let end: AnswerEnd | null = null;
    const reader = new AnswerReader(
      { after: request.after, entryBytesMax: request.holdOnly ? 0 : entryBytesMax },
      {
        onHead: (head) => this.#follower.answered(id, head, clock.nowMs()),
        onEntry: (entry) => this.#follower.entry(id, entry, clock.nowMs()),
        onEnd: (last) => {
          end = last;
        },
      },
      lastingCrc,
    );
    const failed = (error: string) => {
      if (this.#take(id) === null) return;
      this.#tell((nowMs) => this.#follower.failed(id, error, nowMs));
    };
    const connection = port.ask(address, READ_PATH, encodeReadRequest(request), {
      onBytes: (bytes) => {
        const call = this.#calls.get(id);
        if (call === undefined) return;
        call.heardMs = clock.nowMs();
        call.bytes += bytes.length;
        const fault = reader.push(bytes);
        if (fault === null) this.#tell(() => {});
        else {
          connection.close();
          failed(unreadText(fault));
        }
      },
      onEnd: () => {
        const fault = reader.finish();
        if (fault !== null || end === null) failed(unreadText(fault ?? 'it has no end'));
        else if (this.#take(id) !== null) {
          const last = end;
          this.#tell((nowMs) => this.#follower.ended(id, last, nowMs));
        }
      },
      onFailure: failed,
    });
    const heardMs = clock.nowMs();
    const heard = { heardMs, bytes: 0, cancelSilence: () => {} };
    const call = { connection, address, isPaused: false, ...heard };
    this.#calls.set(id, call);
    this.#watch(id, call, SILENCE_MS);
  }

  #watch(id: number, call: Call, ms: number): void {
    const { clock } = this.#options;
    call.cancelSilence = clock.after(ms, () => {
      const silentMs = call.isPaused ? 0 : clock.nowMs() - call.heardMs;
      if (silentMs < SILENCE_MS) {
        if (!call.isPaused && call.bytes < SLOW_BYTES) this.#follower.slow(id);
        call.bytes = 0;
        this.#watch(id, call, SILENCE_MS - silentMs);
        return;
      }
      this.#take(id)?.connection.close();
      const error = `${urlOf(call.address)}: no answer within ${SILENCE_MS / 1000}s`;
      this.#tell((nowMs) => this.#follower.failed(id, error, nowMs));
    });
  }

  #pause(id: number): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    call.isPaused = true;
    call.connection.pause();
  }

  #resume(id: number): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    call.isPaused = false;
    // The pause was this side's: that is not slow.
    call.bytes = SLOW_BYTES;
    call.heardMs = this.#options.clock.nowMs();
    call.connection.resume();
  }

  /** null: it is over already. */
  #take(id: number): Call | null {
    const call = this.#calls.get(id);
    if (call === undefined) return null;
    this.#calls.delete(id);
    call.cancelSilence();
    return call;
  }

  // --- time, and lines in the log ----------------------------------------------------------------

  /** Tells the follower, and sees to what it wants then. */
  #tell(event: (nowMs: number) => void): void {
    const { clock } = this.#options;
    event(clock.nowMs());
    const dueMs = this.#follower.dueMs ?? Number.POSITIVE_INFINITY;
    // A tick that comes early does no harm: most of what is due is put off by the next answer.
    if (dueMs < this.#dueMs) {
      this.#cancelTick();
      this.#dueMs = dueMs;
      this.#cancelTick = clock.after(Math.max(0, dueMs - clock.nowMs()), () => {
        this.#dueMs = Number.POSITIVE_INFINITY;
        this.#tell((nowMs) => this.#follower.tick(nowMs));
      });
    }
    this.#log();
  }

  #log(): void {
    const { clock, logger } = this.#options;
    const { state } = this.#follower;
    if (state === this.#told.state && state !== 'waiting' && state !== 'halted') return;
    const { error, source } = this.view({ index: 0, stampUs: 0 });
    const nowMs = clock.nowMs();
    const isNew = state !== this.#told.state || (state === 'halted' && error !== this.#told.error);
    if (!isNew && nowMs - this.#told.atMs < TELL_AGAIN_MS) return;
    // A leadership begins without an answer and without an obstacle.
    if (state === 'waiting' && error === null) return;
    this.#told = { state, error: error ?? '', atMs: nowMs };
    if (state === 'halted') logger.error('standby', `the source is not followed: ${error}`);
    else if (state === 'waiting') logger.warn('standby', `the source is waited for: ${error}`);
    else if (state === 'following') logger.info('standby', `the source is followed at ${source}`);
  }
}
