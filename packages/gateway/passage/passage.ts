/**
 * A request's way through the pipeline, with what the pipeline itself may not have: the store, the
 * clock, the bodies. The order of checks is that of `pipeline/decide.ts`; here is only how what it
 * lacks is found out.
 *
 * What must hold:
 * - A request of which everything is known is decided in its turn, without a promise.
 * - What a request took is given back: `Admitted.finish` is called once for each that was admitted,
 *   whether it was answered or its client went away.
 */

import type { Clock } from '../base/clock.js';
import type { ClusterView } from '../base/cluster-view.js';
import { OverloadedError } from '../base/overloaded.js';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import { isSameSecret } from '../credentials/api-key.js';
import type { Credentials } from '../credentials/credentials.js';
import type { MaybePromise } from '../credentials/known.js';
import { type Presented, presentedBy } from '../credentials/presented.js';
import type { Denial, Destination, Limits, ParkedSlot } from '../limits/limits.js';
import type { Meter } from '../metering/samples.js';
import { type Answered, type Counted, countParts, countsAnswer } from '../pipeline/answer-count.js';
import { type BodySummary, summaryParts } from '../pipeline/body-summary.js';
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
import { isApiPath, type RouteTarget } from '../pipeline/targets.js';
import { StoreUnavailableError } from '../store/kv.js';

export type Bytes = Parameters<typeof summaryParts>[1];

export interface IncomingRequest {
  /** Without the query, as it came. */
  readonly path: string;
  /** Behind `?`, as it came. */
  readonly query: string;
  /** By its name in lower case; undefined without one. */
  readonly header: (name: string) => string | undefined;
  /** The whole body, once; null when it has more bytes than `bytesMax`. */
  readonly readBody: (bytesMax: number) => MaybePromise<Bytes | null>;
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
  readonly finish: (answered: Answered | null) => void;
  /** Calls `send` when the count of `finish` outlives the process; the client may have gone. */
  readonly whenCounted: (send: () => void) => void;
}

/** One request, and what was found out of it. */
interface Finding {
  readonly request: DecidedRequest;
  readonly incoming: IncomingRequest;
  readonly presented: Presented | null;
  readonly facts: {
    clusters: Map<string, ClusterView | null>;
    roles: Map<string, NonNullable<ReturnType<Facts['roles']['get']>> | null>;
    caller?: NonNullable<Facts['caller']> | null;
    body?: BodySummary | null;
    isControlPlane?: boolean;
  };
  body: Bytes | null;
}

/** A body that is larger than what is kept. */
class BodyTooLargeError extends Error {}

export class Passage {
  readonly #options: PassageOptions;
  readonly #ports: LimitPorts;

  constructor(options: PassageOptions) {
    this.#options = options;
    const { limits, config, onShadow } = options;
    this.#ports = { limits, config, onShadow };
  }

  /** Rejects only when the client's body cannot be read. */
  admit(incoming: IncomingRequest, target: RouteTarget): MaybePromise<Admitted | RefusedRequest> {
    const finding = this.#finding(incoming, target);
    const decided = this.#decide(finding);
    return decided instanceof Promise
      ? decided.then((one) => this.#limit(finding, one))
      : this.#limit(finding, decided);
  }

  #finding(incoming: IncomingRequest, target: RouteTarget): Finding {
    const { header, path } = incoming;
    const head = {
      authorization: header('authorization'),
      cookie: header('cookie'),
      fetchMode: header('sec-fetch-mode'),
      isApi: isApiPath(path),
    };
    const presented = presentedBy(head, this.#options.config.cookieNames);
    const request: DecidedRequest = {
      target,
      host: hostOf(header('host')),
      actCluster: header('x-svc-act-cluster') ?? null,
      hasCredential: presented !== null,
    };
    const facts = { clusters: new Map(), roles: new Map() };
    return { request, incoming, presented, facts, body: null };
  }

  #decide(finding: Finding): MaybePromise<Passed | RefusedRequest> {
    const { config, limits } = this.#options;
    for (;;) {
      const decision = decide(finding.request, finding.facts, config, (id) => limits.pushBlock(id));
      if (decision.kind !== 'need') return decision;
      let found: MaybePromise<unknown>;
      try {
        found = this.#find(decision, finding);
      } catch (error) {
        return refusedBy(error);
      }
      if (found instanceof Promise) return found.then(() => this.#decide(finding), refusedBy);
    }
  }

  /** Finds out what is lacking, and puts it to the facts. */
  #find(
    decision: Extract<Decision, { readonly kind: 'need' }>,
    finding: Finding,
  ): MaybePromise<unknown> {
    const { credentials } = this.#options;
    const { facts, presented } = finding;
    switch (decision.need) {
      case 'cluster': {
        const { kind, name } = decision.by;
        const cluster =
          kind === 'slug' ? credentials.clusterBySlug(name) : credentials.clusterById(name);
        return settled(cluster, (found) => facts.clusters.set(name, found));
      }
      case 'caller':
        return settled(presented === null ? null : credentials.caller(presented), (found) => {
          facts.caller = found;
        });
      case 'role': {
        const { userId, clusterId } = decision;
        return settled(credentials.role(userId, clusterId), (role) =>
          facts.roles.set(clusterId, role),
        );
      }
      case 'control-plane':
        facts.isControlPlane = this.isControlPlane(finding.incoming);
        return null;
      case 'body':
        return settled(this.#read(finding), (summary) => {
          facts.body = summary;
        });
    }
  }

  /** The token is compared in a time that says nothing. Without one there is no control plane. */
  isControlPlane({ header }: Pick<IncomingRequest, 'header'>): boolean {
    const { controlPlaneToken } = this.#options.config;
    if (controlPlaneToken === null) return false;
    const bearer = /^bearer +(.*)$/i.exec((header('authorization') ?? '').trim())?.[1];
    const given = header('x-svc-cp-token') ?? bearer;
    return given !== undefined && isSameSecret(given, controlPlaneToken);
  }

  #limit(
    finding: Finding,
    decided: Passed | RefusedRequest,
  ): MaybePromise<Admitted | RefusedRequest> {
    if (decided.kind === 'refused') return decided;
    const { clock, credentials } = this.#options;
    const { incoming, facts } = finding;
    if (decided.caller?.kind === 'key') credentials.noteUse(decided.caller.keyId);
    const lengthHeader = incoming.header('content-length');
    const length = lengthHeader === undefined ? null : Number(lengthHeader);
    const limited = limitHead(decided, incoming.query, length, this.#ports, clock.nowMs());
    if (limited.kind === 'refused') return limited;
    if (!limited.readsBody) return this.#admitted(finding, decided, facts.body, limited.slot);
    // The decision may have needed it, and it is there once.
    if (facts.body !== undefined) return this.#limitBody(finding, decided, facts.body);
    try {
      const read = this.#read(finding);
      return read instanceof Promise
        ? read.then((summary) => this.#limitBody(finding, decided, summary)).catch(refusedBy)
        : this.#limitBody(finding, decided, read);
    } catch (error) {
      return refusedBy(error);
    }
  }

  /** Asks the broker first where the limits do not know what is there. */
  #limitBody(
    finding: Finding,
    passed: Passed,
    summary: BodySummary | null,
  ): MaybePromise<Admitted | RefusedRequest> {
    const { clock, learn } = this.#options;
    const limit = (): Admitted | RefusedRequest => {
      const refusal = limitBody(passed, summary, this.#ports, clock.nowMs());
      return refusal === null
        ? this.#admitted(finding, passed, summary)
        : { kind: 'refused', refusal };
    };
    const unknown = unknownOf(passed, summary, this.#ports, clock.nowMs());
    return unknown === null ? limit() : learn(unknown.cluster, unknown.destinations).then(limit);
  }

  #admitted(
    finding: Finding,
    passed: Passed,
    summary: BodySummary | null = null,
    slot: ParkedSlot | null = null,
  ): Admitted {
    let isOver = false;
    let counting: Promise<void> | null = null;
    return {
      kind: 'admitted',
      passed,
      body: finding.body,
      isFacade: summary?.isFacade ?? false,
      countsAnswer: countsAnswer(passed, summary),
      timeoutMs: upstreamTimeoutMs(passed, finding.incoming.query, this.#options.config),
      finish: (answered) => {
        if (isOver) return;
        isOver = true;
        slot?.release();
        if (answered !== null) counting = this.#count(passed, summary, answered);
      },
      whenCounted: (send) => {
        const { meter } = this.#options;
        if (counting === null) meter.whenWritten(send);
        else void counting.then(() => meter.whenWritten(send));
      },
    };
  }

  /** null: it is counted. Of a large answer other requests wait for no more than a part. */
  #count(passed: Passed, summary: BodySummary | null, answered: Answered): Promise<void> | null {
    const parts = countParts(passed, summary, answered);
    const first = parts.next();
    if (first.done !== true) {
      return this.#otherParts(parts).then((counted) => this.#meter(passed, counted));
    }
    this.#meter(passed, first.value);
    return null;
  }

  #meter(passed: Passed, counted: Counted | null): void {
    const { meter, limits, clock, onUnreadable } = this.#options;
    if (counted === null) return;
    for (const sample of counted.samples) meter.add(sample, clock.wallUs());
    if (counted.delivered > 0 && passed.cluster !== null) {
      limits.delivered(passed.cluster, counted.delivered, clock.nowMs());
    }
    if (counted.isUnreadable) onUnreadable(passed);
  }

  /** A small body that is there is summed up in this turn. */
  #read(finding: Finding): MaybePromise<BodySummary | null> {
    const body = finding.incoming.readBody(this.#options.config.bodyBytesMax);
    return body instanceof Promise
      ? body.then((one) => this.#summed(finding, one))
      : this.#summed(finding, body);
  }

  #summed(finding: Finding, body: Bytes | null): MaybePromise<BodySummary | null> {
    const rule = finding.request.target.body;
    if (rule === null) throw new Error('the route has no rule for its body');
    if (body === null) throw new BodyTooLargeError();
    finding.body = body;
    const parts = summaryParts(rule, body);
    const first = parts.next();
    return first.done === true ? first.value : this.#otherParts(parts);
  }

  async #otherParts<Result>(parts: Generator<void, Result>): Promise<Result> {
    for (;;) {
      await new Promise<void>((resolve) => this.#options.clock.after(0, resolve));
      const part = parts.next();
      if (part.done === true) return part.value;
    }
  }
}

/** Errors that say what the client is answered; every other one is thrown on. */
function refusedBy(error: unknown): RefusedRequest {
  if (error instanceof BodyTooLargeError) {
    return { kind: 'refused', refusal: REFUSALS.bodyTooLarge };
  }
  if (error instanceof StoreUnavailableError) {
    return { kind: 'refused', refusal: REFUSALS.unavailable };
  }
  if (error instanceof OverloadedError) return { kind: 'refused', refusal: REFUSALS.overloaded };
  throw error;
}

/** Hands the value on, in the same turn where it is there. */
function settled<Value>(
  value: MaybePromise<Value>,
  put: (value: Value) => void,
): MaybePromise<unknown> {
  if (value instanceof Promise) return value.then(put);
  put(value);
  return null;
}
