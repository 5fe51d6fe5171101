/**
 * The order of a request's checks (gateway 4), as a pure function.
 *
 * The job: a request is let through, or refused by the first thing that is wrong, and the order of
 * these things is a contract: what a stranger learns of a cluster depends on it. Some of what is
 * asked is known at once, and some is in the store. So `decide` is given what is known so far
 * (`Facts`) and answers either what it lacks or what is to be done; the caller finds that out and
 * asks again from the start. It takes nothing and counts nothing, so it may run as often as needed;
 * what has an effect (`limit-request.ts`) comes after it, once.
 *
 * There are two orders. Usually the host names the cluster, and everything that follows from the
 * cluster is told before a credential is looked at. Where a credential names it (a shared host on
 * this listener, or `x-svc-act-cluster`), nothing of any cluster is told before there is a valid
 * one, and only to those who belong to it.
 *
 * Rejected: one asynchronous function from top to bottom. Each of its waits costs every request a
 * turn of the loop, also when all is known; and its order could be tested with a store only.
 */
import type { Role } from '../base/access.js';
import type { Caller } from '../base/caller.js';
import type { ClusterView } from '../base/cluster-view.js';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import type { PushBlock } from '../limits/limits.js';
import type { BodySummary } from './body-summary.js';
import { CLASSES, type ClassRule } from './classes.js';
import type { RouteTarget } from './targets.js';

export interface PipelineConfig {
  /** Lower case, without ports. */
  readonly sharedHosts: ReadonlySet<string>;
  /** Slug for hosts that name no cluster; null: these are 421. */
  readonly defaultCluster: string | null;
  readonly operatorEnabled: boolean;
  /** No credential is asked for: for development. */
  readonly devInsecure: boolean;
}

/** The parts of a request's head that decide. */
export interface DecidedRequest {
  readonly target: RouteTarget;
  /** Lower case, without a port; "" without one. */
  readonly host: string;
  /** `x-svc-act-cluster`: a slug or an id; null without one. */
  readonly actCluster: string | null;
  /** It brings a credential of some kind. */
  readonly hasCredential: boolean;
}

/** A member that is not there was not found out yet; null: there is none. */
export interface Facts {
  /** The cluster that the host, the caller or `x-svc-act-cluster` names: one, for one request. */
  readonly named?: ClusterView | null;
  /** The cluster for all hosts that name none. */
  readonly fallback?: ClusterView | null;
  readonly caller?: Caller | null;
  /** The role of the caller on the cluster. */
  readonly role?: Role | null;
  /** null: it cannot be read. */
  readonly body?: BodySummary | null;
  readonly isControlPlane?: boolean;
}

/** A request that may go on. */
export interface Passed {
  readonly kind: 'passed';
  /** null: the route belongs to no cluster. */
  readonly cluster: ClusterView | null;
  /** null: nobody had to say who they are. */
  readonly caller: Caller | null;
  readonly target: RouteTarget;
}

export type Decision =
  | { readonly kind: 'need'; readonly need: 'named' | 'fallback'; readonly by: ClusterName }
  | { readonly kind: 'need'; readonly need: 'caller' | 'body' | 'control-plane' }
  | {
      readonly kind: 'need';
      readonly need: 'role';
      readonly userId: string;
      readonly clusterId: string;
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | Passed;

export interface ClusterName {
  readonly kind: 'slug' | 'id';
  readonly name: string;
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const refuse = (refusal: Refusal): Decision => ({ kind: 'refused', refusal });
const need = (what: 'caller' | 'body' | 'control-plane'): Decision => {
  return { kind: 'need', need: what };
};

type PushBlockOf = (clusterId: string) => PushBlock | null;

/** `pushBlock`: what stopped the pushes of a cluster, as this node knows it. */
export function decide(
  request: DecidedRequest,
  facts: Facts,
  config: PipelineConfig,
  pushBlock: PushBlockOf,
): Decision {
  return new Deciding(request, facts, config, pushBlock).decide();
}

class Deciding {
  readonly #request: DecidedRequest;
  readonly #facts: Facts;
  readonly #config: PipelineConfig;
  readonly #pushBlock: PushBlockOf;
  #rule: ClassRule;
  #cluster: ClusterView | null = null;
  #caller: Caller | null = null;

  constructor(
    request: DecidedRequest,
    facts: Facts,
    config: PipelineConfig,
    pushBlock: PushBlockOf,
  ) {
    this.#request = request;
    this.#facts = facts;
    this.#config = config;
    this.#pushBlock = pushBlock;
    this.#rule = CLASSES[request.target.gatewayClass];
  }

  decide(): Decision {
    const { gate } = this.#rule;
    if (gate === 'everybody') return this.#passed();
    if (gate === 'control-plane') {
      if (this.#facts.isControlPlane === undefined) return need('control-plane');
      return this.#facts.isControlPlane ? this.#passed() : refuse(REFUSALS.routeBlocked);
    }
    return this.#inOrder() ?? this.#passed();
  }

  /** null: nothing is wrong. */
  #inOrder(): Decision | null {
    const { sharedHosts, devInsecure } = this.#config;
    const { actCluster } = this.#request;
    if (!devInsecure && (sharedHosts.size > 0 || actCluster !== null)) {
      return (
        this.#route() ??
        this.#authenticated() ??
        this.#clusterOfCaller() ??
        this.#belongs() ??
        this.#status() ??
        this.#facade() ??
        this.#plan() ??
        this.#mayGrow() ??
        this.#authorized()
      );
    }
    return (
      this.#clusterOfHost() ??
      this.#status() ??
      this.#route() ??
      this.#facade() ??
      this.#plan() ??
      this.#mayGrow() ??
      this.#authenticated() ??
      this.#belongs() ??
      this.#authorized()
    );
  }

  #passed(): Passed {
    return {
      kind: 'passed',
      cluster: this.#cluster,
      caller: this.#caller,
      target: this.#request.target,
    };
  }

  /** The first label of the host, else the cluster that stands for all others. */
  #clusterOfHost(): Decision | null {
    const { host, actCluster } = this.#request;
    const { defaultCluster, devInsecure } = this.#config;
    if (devInsecure && actCluster !== null) return this.#find('named', named(actCluster));
    const dot = host.indexOf('.');
    const label = dot === -1 ? host : host.slice(0, dot);
    if (label !== '') {
      const wrong = this.#find('named', { kind: 'slug', name: label });
      if (wrong === null || wrong.kind === 'need') return wrong;
    }
    if (defaultCluster === null) return refuse(REFUSALS.clusterUnknown);
    return this.#find('fallback', { kind: 'slug', name: defaultCluster });
  }

  #clusterOfCaller(): Decision | null {
    const { host, actCluster } = this.#request;
    const caller = this.#caller;
    if (actCluster !== null) {
      return caller?.kind === 'key'
        ? refuse(REFUSALS.actingKey)
        : this.#find('named', named(actCluster));
    }
    if (!this.#config.sharedHosts.has(host)) return this.#clusterOfHost();
    if (caller?.kind !== 'key') return refuse(REFUSALS.clusterUnknown);
    return this.#find('named', { kind: 'id', name: caller.clusterId });
  }

  #find(what: 'named' | 'fallback', by: ClusterName): Decision | null {
    const cluster = this.#facts[what];
    if (cluster === undefined) return { kind: 'need', need: what, by };
    if (cluster === null) return refuse(REFUSALS.clusterUnknown);
    this.#cluster = cluster;
    return null;
  }

  #status(): Decision | null {
    const status = this.#cluster?.status;
    const isClosed = status === 'suspended' || status === 'deleting';
    return isClosed ? refuse(REFUSALS.suspended) : null;
  }

  /** What nobody is let through to, whoever they are. */
  #route(): Decision | null {
    const { gate } = this.#rule;
    const isClosed = gate === 'nobody' || (gate === 'operators' && !this.#config.operatorEnabled);
    return isClosed ? refuse(REFUSALS.routeBlocked) : null;
  }

  /**
   * A batch of key/value that the log facade keeps its own books in is what a consumer does, so it
   * needs no feature and is never blocked. Only a body tells, and only bodies of those are read who
   * have a valid credential: for anybody else the answer is that of the class.
   */
  #facade(): Decision | null {
    if (this.#request.target.body !== 'kv') return null;
    const caller = this.#knownCaller();
    if (caller === undefined) return need('caller');
    if (caller === null && !this.#config.devInsecure) return null;
    const { body } = this.#facts;
    if (body === undefined) return this.#needsKvBody(caller) ? need('body') : null;
    if (body?.isFacade === true) this.#rule = CLASSES.consume;
    return null;
  }

  /** A body that cannot change anything is not read: it goes by as it comes. */
  #needsKvBody(caller: Caller | null): boolean {
    const cluster = this.#cluster;
    if (cluster === null || !cluster.features.kv || this.#blocks(cluster) !== null) return true;
    return caller?.kind === 'key' && !caller.scopes.includes('consume');
  }

  #plan(): Decision | null {
    const { feature } = this.#rule;
    if (feature === null || this.#cluster?.features[feature] === true) return null;
    return refuse(REFUSALS.featureGated);
  }

  #mayGrow(): Decision | null {
    const { grows } = this.#rule;
    if (grows === 'never' || this.#cluster === null) return null;
    const refusal = this.#blocks(this.#cluster);
    if (refusal === null) return null;
    if (grows === 'always') return refuse(refusal);
    // A stranger's body is not worth reading.
    const wrong = this.#authenticated();
    if (wrong !== null) return wrong;
    const { body } = this.#facts;
    if (body === undefined) return need('body');
    if (body === null) return refuse(refusal);
    if (body.growing === null) return null;
    return refuse({ ...refusal, error: `${refusal.error}: ${body.growing}` });
  }

  #blocks(cluster: ClusterView): Refusal | null {
    const block = this.#pushBlock(cluster.id);
    if (block === 'storage') return REFUSALS.storageBlocked;
    if (block === 'monthly') return REFUSALS.monthlyBlocked;
    return cluster.status === 'push_blocked' ? REFUSALS.pushBlocked : null;
  }

  #authenticated(): Decision | null {
    if (this.#config.devInsecure) return null;
    if (!this.#request.hasCredential) return refuse(REFUSALS.noCredential);
    const caller = this.#knownCaller();
    if (caller === undefined) return need('caller');
    if (caller === null) return refuse(REFUSALS.badCredential);
    this.#caller = caller;
    return null;
  }

  /** undefined: it was not found out yet. */
  #knownCaller(): Caller | null | undefined {
    return this.#request.hasCredential && !this.#config.devInsecure ? this.#facts.caller : null;
  }

  /** A credential of another cluster is refused whatever it asks for. */
  #belongs(): Decision | null {
    const [caller, cluster] = [this.#caller, this.#cluster];
    if (caller === null || cluster === null) return null;
    if (caller.clusterId !== null && caller.clusterId !== cluster.id) {
      return this.#rule.gate === 'operators'
        ? refuse(REFUSALS.routeBlocked)
        : refuse(REFUSALS.wrongCluster);
    }
    const role = this.#role(caller);
    if (role === undefined) {
      const userId = caller.kind === 'session' ? caller.userId : '';
      return { kind: 'need', need: 'role', userId, clusterId: cluster.id };
    }
    return role === null ? this.#forbidden() : null;
  }

  /** A session's role on the cluster; a key is "key" there. undefined: it was not found out yet. */
  #role(caller: Caller): Role | 'key' | null | undefined {
    if (caller.kind === 'key') return 'key';
    return this.#isLiveOperator(caller) ? 'admin' : this.#facts.role;
  }

  #authorized(): Decision | null {
    const [caller, cluster] = [this.#caller, this.#cluster];
    if (caller === null || cluster === null) return null;
    const { gate, scopes, roles } = this.#rule;
    if (gate === 'operators') return this.#isLiveOperator(caller) ? null : this.#forbidden();
    const isAllowed =
      caller.kind === 'key'
        ? caller.scopes.some((scope) => scopes.includes(scope))
        : roles.some((role) => role === this.#role(caller));
    return isAllowed ? null : this.#forbidden();
  }

  /** An operator's route is not there for anybody else. */
  #forbidden(): Decision {
    const { routeBlocked, forbidden } = REFUSALS;
    return refuse(this.#rule.gate === 'operators' ? routeBlocked : forbidden);
  }

  #isLiveOperator(caller: Caller): boolean {
    return caller.kind === 'session' && caller.isOperator && this.#config.operatorEnabled;
  }
}

function named(text: string): ClusterName {
  const name = text.trim().toLowerCase();
  return { kind: ID.test(name) ? 'id' : 'slug', name };
}

/** The host of a `Host` header: lower case, without its port. */
export function hostOf(header: string | undefined): string {
  return (header ?? '').trim().toLowerCase().replace(/:\d*$/, '');
}
