/**
 * A request's way through the pipeline, with what the pipeline itself may not have: the store and
 * the clock. The order of checks is that of `pipeline/decide.ts`; here is only how what it lacks is
 * found out.
 *
 *     admit -> lacks rows  -> they are remembered, or read -\
 *        ^     lacks a body -> `BodyWanted`, `goOn(body)` ---+-> admitted or refused
 *        \---------------------------------------------------/
 *
 * What must hold:
 * - A request of which everything is known is decided in its turn, without a promise.
 * - A body is asked of whoever has the connection, when it is needed and not before: the caller of
 *   most bodies is known then.
 * - What a request took is given back: `Admitted.finish` is called once for each that was admitted,
 *   whether it was answered or its client went away.
 * - A body is let go of when its client goes, for no budget counts it from then on.
 *
 * A push is decided here some ten thousand times a second, so a request is one object whose members
 * are what was found out of it. Rejected: promises and a function for each step; for a push they
 * are five and a dozen, and cost more than its checks.
 */

import type { Clock } from '../base/clock.js';
import type { ClusterView } from '../base/cluster-view.js';
import { OverloadedError } from '../base/overloaded.js';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import { isSameSecret } from '../credentials/api-key.js';
import type { Credentials } from '../credentials/credentials.js';
import type { MaybePromise } from '../credentials/known.js';
import { type Presented, presentedBy } from '../credentials/presented.js';
import type { Denial, Destination, Limits, ParkedSlot, PushBlock } from '../limits/limits.js';
import type { Meter } from '../metering/samples.js';
import {
  type Answered,
  type AnswerReader,
  answerReader,
  countedOf,
  countsAnswer,
} from '../pipeline/answer-count.js';
import { type BodySummary, SummaryReader } from '../pipeline/body-summary.js';
import {
  type DecidedRequest,
  type Decision,
  decide,
  type Facts,
  hostOf,
  type Passed,
  type PipelineConfig,
} from '../pipeline/decide.js';
import {
  type LimitConfig,
  type LimitPorts,
  limitBody,
  limitHead,
  type TimeoutConfig,
  unknownOf,
  upstreamTimeoutMs,
} from '../pipeline/limit-request.js';
import type { Bytes, PartsReader } from '../pipeline/parts-reader.js';
import { isApiPath, type RouteTarget } from '../pipeline/targets.js';
import { StoreUnavailableError } from '../store/kv.js';

export interface IncomingRequest {
  /** Without the query, as it came. */
  readonly path: string;
  /** Behind `?`, as it came; undefined without one. */
  readonly query: string | undefined;
  /** By its name in lower case; undefined without one. */
  header(name: string): string | undefined;
  /** Its client has gone, or has an answer: nobody waits for a decision. */
  readonly isOver: boolean;
}

export interface PassageConfig extends PipelineConfig, LimitConfig, TimeoutConfig {
  /** Session cookies, the first that is there counts. */
  readonly cookieNames: readonly string[];
  /** null: there is no control plane. */
  readonly controlPlaneToken: string | null;
}

export interface PassageOptions {
  readonly credentials: Credentials;
  readonly limits: Limits;
  readonly meter: Meter;
  readonly clock: Clock;
  readonly config: PassageConfig;
  readonly onShadow: (cluster: ClusterView, denial: Denial) => void;
  /** Asks the broker what of it is there (`upkeep/inventory.ts`). Never rejects. */
  readonly learn: (cluster: ClusterView, destinations: readonly Destination[]) => Promise<void>;
  /** An answer that should have been counted could not be read. */
  readonly onUnreadable: (passed: Passed) => void;
}

export interface RefusedRequest {
  readonly kind: 'refused';
  readonly refusal: Refusal;
}

export interface Admitted {
  readonly kind: 'admitted';
  readonly passed: Passed;
  /** null: it was not read, and goes by as it comes. */
  readonly body: Bytes | null;
  /** The books of a log facade: the tenant's grant of key/value is not asked for. */
  readonly isFacade: boolean;
  /** The answer's body is to be handed to `finish`. */
  readonly countsAnswer: boolean;
  readonly timeoutMs: number;
  /** Counts the answer, and gives back what was taken. null: there was none. */
  finish(answered: Answered | null): void;
  /** Calls `send` when the count of `finish` outlives the process; the client may have gone. */
  whenCounted(send: () => void): void;
}

/** The request cannot be decided without its body. */
export interface BodyWanted {
  readonly kind: 'body';
  /** A longer one is refused by whoever reads it: 413. */
  readonly bytesMax: number;
  /** Whose part of the memory for bodies it takes; null: it is not known who sends it. */
  readonly owner: string | null;
  /** The whole body, once. As `Passage.admit`, and never asks for it again. */
  goOn(body: Bytes): MaybePromise<Admission>;
}

export type Admission = Admitted | RefusedRequest | BodyWanted;

export class Passage {
  readonly #needs: Needs;

  constructor(options: PassageOptions) {
    const { limits, config, onShadow } = options;
    this.#needs = {
      ...options,
      ports: { limits, config, onShadow },
      pushBlock: (clusterId) => limits.pushBlock(clusterId),
    };
  }

  /** A promise where a row has to be read or the broker asked. */
  admit(incoming: IncomingRequest, target: RouteTarget): MaybePromise<Admission> {
    return new Request(this.#needs, incoming, target).advance();
  }
}

interface Needs extends PassageOptions {
  readonly ports: LimitPorts;
  readonly pushBlock: (clusterId: string) => PushBlock | null;
}

/** One request, and what was found out of it. */
class Request implements BodyWanted {
  readonly kind = 'body';
  readonly #needs: Needs;
  readonly #incoming: IncomingRequest;
  readonly #request: DecidedRequest;
  readonly #presented: Presented | null;
  readonly #facts: { -readonly [Name in keyof Facts]: Facts[Name] } = {};
  #body: Bytes | null = null;
  /** Passed every check, and the limits of its head. */
  #passed: Passed | null = null;
  #slot: ParkedSlot | null = null;

  constructor(needs: Needs, incoming: IncomingRequest, target: RouteTarget) {
    this.#needs = needs;
    this.#incoming = incoming;
    const head = {
      authorization: incoming.header('authorization'),
      cookie: incoming.header('cookie'),
      fetchMode: incoming.header('sec-fetch-mode'),
      isApi: isApiPath(incoming.path),
    };
    this.#presented = presentedBy(head, needs.config.cookieNames);
    this.#request = {
      target,
      host: hostOf(incoming.header('host')),
      actCluster: incoming.header('x-svc-act-cluster') ?? null,
      hasCredential: this.#presented !== null,
    };
  }

  get bytesMax(): number {
    return this.#needs.config.bodyBytesMax;
  }

  /** A body that is read before its caller is known to belong to the cluster is the caller's. */
  get owner(): string | null {
    if (this.#passed !== null) return this.#passed.cluster?.id ?? null;
    const { caller } = this.#facts;
    if (caller === undefined || caller === null) return null;
    return caller.kind === 'key' ? caller.clusterId : caller.userId;
  }

  /** As far as what is known leads. */
  advance(): MaybePromise<Admission> {
    if (this.#passed !== null) return this.#limitBody(this.#passed);
    for (;;) {
      const { config, pushBlock } = this.#needs;
      const decision = decide(this.#request, this.#facts, config, pushBlock);
      if (decision.kind === 'refused') return decision;
      if (decision.kind === 'passed') return this.#limitHead(decision);
      if (decision.need === 'body') return this;
      let found: Promise<void> | null;
      try {
        found = this.#find(decision);
      } catch (error) {
        return refusedBy(error);
      }
      if (found !== null) return found.then(() => this.advance(), refusedBy);
    }
  }

  goOn(body: Bytes): MaybePromise<Admission> {
    const rule = this.#request.target.body;
    if (rule === null) throw new Error('the route has no rule for its body');
    this.#body = body;
    const reader = new SummaryReader(rule, body);
    const others = inParts(reader.parts, this.#needs.clock, this.#incoming);
    if (others === null) return this.#summed(reader.summary);
    return others.then(() => (this.#incoming.isOver ? LEFT : this.#summed(reader.summary)));
  }

  #summed(summary: BodySummary | null): MaybePromise<Admission> {
    this.#facts.body = summary;
    return this.advance();
  }

  /** Finds out what is lacking; null: in this turn. */
  #find(decision: Extract<Decision, { readonly kind: 'need' }>): Promise<void> | null {
    const { credentials, config } = this.#needs;
    const facts = this.#facts;
    switch (decision.need) {
      case 'named':
      case 'fallback': {
        const { need, by } = decision;
        const { kind, name } = by;
        const cluster =
          kind === 'slug' ? credentials.clusterBySlug(name) : credentials.clusterById(name);
        return settled(cluster, (found) => {
          facts[need] = found;
        });
      }
      case 'caller': {
        const caller = this.#presented === null ? null : credentials.caller(this.#presented);
        return settled(caller, (found) => {
          facts.caller = found;
        });
      }
      case 'role':
        return settled(credentials.role(decision.userId, decision.clusterId), (found) => {
          facts.role = found;
        });
      case 'control-plane':
        facts.isControlPlane = isControlPlane(this.#incoming, config.controlPlaneToken);
        return null;
      default:
        throw new Error('a body is not looked up');
    }
  }

  #limitHead(passed: Passed): MaybePromise<Admission> {
    const { clock, credentials, ports } = this.#needs;
    if (passed.caller?.kind === 'key') credentials.noteUse(passed.caller.keyId);
    const lengthHeader = this.#incoming.header('content-length');
    const length = lengthHeader === undefined ? null : Number(lengthHeader);
    const query = this.#incoming.query ?? '';
    const limited = limitHead(passed, query, length, ports, clock.nowMs());
    if (limited.kind === 'refused') return limited;
    this.#passed = passed;
    this.#slot = limited.slot;
    if (!limited.readsBody) return this.#admitted(passed);
    // The decision may have needed it, and it is there once.
    return this.#facts.body === undefined ? this : this.#limitBody(passed);
  }

  /** Asks the broker first where the limits do not know what is there. */
  #limitBody(passed: Passed): MaybePromise<Admission> {
    const { clock, learn, ports } = this.#needs;
    const unknown = unknownOf(passed, this.#summary, ports, clock.nowMs());
    if (unknown === null) return this.#limited(passed);
    return learn(unknown.cluster, unknown.destinations).then(() => this.#limited(passed));
  }

  #limited(passed: Passed): Admission {
    const { clock, ports } = this.#needs;
    const refusal = limitBody(passed, this.#summary, ports, clock.nowMs());
    return refusal === null ? this.#admitted(passed) : { kind: 'refused', refusal };
  }

  get #summary(): BodySummary | null {
    return this.#facts.body ?? null;
  }

  #admitted(passed: Passed): Admitted {
    const query = this.#incoming.query ?? '';
    const timeoutMs = upstreamTimeoutMs(passed, query, this.#needs.config);
    return new AdmittedRequest(
      this.#needs,
      passed,
      this.#body,
      this.#summary,
      this.#slot,
      timeoutMs,
    );
  }
}

/** Hands the value on; null: in this turn. */
function settled<Value>(
  value: MaybePromise<Value>,
  put: (value: Value) => void,
): Promise<void> | null {
  if (value instanceof Promise) return value.then(put);
  put(value);
  return null;
}

class AdmittedRequest implements Admitted {
  readonly kind = 'admitted';
  readonly passed: Passed;
  readonly body: Bytes | null;
  readonly timeoutMs: number;
  readonly isFacade: boolean;
  readonly countsAnswer: boolean;
  readonly #needs: Needs;
  readonly #summary: BodySummary | null;
  readonly #slot: ParkedSlot | null;
  #isOver = false;
  /** null: it is counted. */
  #counting: Promise<void> | null = null;

  constructor(
    needs: Needs,
    passed: Passed,
    body: Bytes | null,
    summary: BodySummary | null,
    slot: ParkedSlot | null,
    timeoutMs: number,
  ) {
    this.#needs = needs;
    this.passed = passed;
    this.body = body;
    this.#summary = summary;
    this.#slot = slot;
    this.timeoutMs = timeoutMs;
    this.isFacade = summary?.isFacade ?? false;
    this.countsAnswer = countsAnswer(passed, summary);
  }

  finish(answered: Answered | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#slot?.release();
    if (answered === null) return;
    const reader = answerReader(this.passed, this.#summary, answered);
    const others = reader === null ? null : inParts(reader.parts, this.#needs.clock, null);
    if (others === null) this.#meter(answered, reader);
    else this.#counting = others.then(() => this.#meter(answered, reader));
  }

  whenCounted(send: () => void): void {
    const { meter } = this.#needs;
    if (this.#counting === null) meter.whenWritten(send);
    else void this.#counting.then(() => meter.whenWritten(send));
  }

  #meter(answered: Answered, reader: AnswerReader | null): void {
    const { meter, limits, clock, onUnreadable } = this.#needs;
    const { cluster } = this.passed;
    const counted = countedOf(this.passed, answered, reader);
    if (counted === null || cluster === null) return;
    const { first, sink, delivered, isUnreadable } = counted;
    meter.add(first, clock.wallUs());
    if (sink !== null) meter.add(sink, clock.wallUs());
    if (delivered > 0) limits.delivered(cluster, delivered, clock.nowMs());
    if (isUnreadable) onUnreadable(this.passed);
  }
}

/** Told to nobody. */
const LEFT: RefusedRequest = { kind: 'refused', refusal: REFUSALS.unavailable };

/**
 * null: the text was read in this turn. Others wait for no more than a part of a large one.
 * `incoming`: the request that it is of; it is not read to its end when that is over. null: it is
 * read whatever happens.
 */
function inParts(
  reader: PartsReader,
  clock: Pick<Clock, 'after'>,
  incoming: Pick<IncomingRequest, 'isOver'> | null,
): Promise<void> | null {
  return reader.step() ? null : otherParts(reader, clock, incoming);
}

async function otherParts(
  reader: PartsReader,
  clock: Pick<Clock, 'after'>,
  incoming: Pick<IncomingRequest, 'isOver'> | null,
): Promise<void> {
  do {
    await new Promise<void>((resolve) => clock.after(0, resolve));
    if (incoming?.isOver === true) return;
  } while (!reader.step());
}

/** The token is compared in a time that says nothing. Without one there is no control plane. */
function isControlPlane(
  incoming: Pick<IncomingRequest, 'header'>,
  controlPlaneToken: string | null,
): boolean {
  if (controlPlaneToken === null) return false;
  const authorization = (incoming.header('authorization') ?? '').trim();
  const bearer = /^bearer +(.*)$/i.exec(authorization)?.[1];
  const given = incoming.header('x-svc-cp-token') ?? bearer;
  return given !== undefined && isSameSecret(given, controlPlaneToken);
}

/** Errors that say what the client is answered; every other one is thrown on. */
function refusedBy(error: unknown): RefusedRequest {
  if (error instanceof StoreUnavailableError) {
    return { kind: 'refused', refusal: REFUSALS.unavailable };
  }
  if (error instanceof OverloadedError) return { kind: 'refused', refusal: REFUSALS.overloaded };
  throw error;
}
