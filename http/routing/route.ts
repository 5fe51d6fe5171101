/** What a route is, and what it is given. */
import type { Subscription } from '@svc/engine';
import type { Meters } from '@svc/wire';
import type { KvLimits, TimerCallLimits } from '../base/limits.js';
import type { AccessLevel, RoleSet } from '../exchange/access-level.js';
import type { AnswerShare } from '../exchange/answer-budget.js';
import type { BodyShare } from '../exchange/body-budget.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Paging } from '../exchange/paging.js';
import type { Zstd } from '../exchange/zstd.js';
import type { CallGate } from '../gate/gate.js';
import type { Scraper } from '../metrics/scrape.js';
import type { Service } from '../ports/service.js';
import type { GatewayClass } from './gateway-class.js';

/** One for the whole front. */
export interface Front {
  readonly service: Service;
  /** Counters; every layer of the process adds to the same object. */
  readonly meters: Meters;
  readonly scraper: Scraper;
  /** What calls of the state surfaces pass before anything else. */
  readonly gate: CallGate;
  readonly kvLimits: KvLimits;
  readonly timers: TimerFront;
  readonly popTimeoutMs: number;
  readonly defaultSubscription: Subscription;
  /** Tokens are checked; otherwise every caller may do everything. */
  readonly checksTokens: boolean;
  readonly serverId: string;
}

/** What calls on timers need beside the service. */
export interface TimerFront {
  readonly limits: TimerCallLimits;
  readonly zstd: Zstd;
}

/** A request as a handler gets it: read as far as its endpoint's record says. */
export interface Call<Params = PathParams, Query = string, Body = Buffer> {
  readonly exchange: Exchange;
  readonly tenant: string;
  /** Whose token it came with, as `sub` names them; null without one, or with the check off. */
  readonly subject: string | null;
  /** What that token allows; null where `subject` is null for want of a token. */
  readonly roles: RoleSet | null;
  /** Bytes of a payload that comes compressed; null: as many as the endpoint takes. */
  readonly payloadBytesMax: number | null;
  /** The `{...}` segments of the path, decoded. */
  readonly params: Params;
  /** The values of the parameters; without any, what stands behind `?`, not decoded. */
  readonly query: Query;
  /** The page that is asked for; all of the list where the record has no `page`. */
  readonly page: Paging;
  /** What the form makes of the body; without one its bytes, which are none without a body. */
  readonly body: Body;
}

export type PathParams = Readonly<Record<string, string>>;

/** A request of any endpoint. */
export type AnyCall = Call<unknown, unknown, unknown>;

/** A request as it comes. */
export type RouteRequest = Call;

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Literal segments and `{name}` for segments that are handed over. */
  readonly path: string;
  /** The level that a caller needs when tokens are checked. Every route states its own. */
  readonly level: AccessLevel;
  /** The class by which a gateway in front of the API treats it. Every route states its own. */
  readonly gateway: GatewayClass;
  /** The part behind `?` is not asked for: a call of the native layer less. */
  readonly ignoresQuery: boolean;
  /** null: the route reads no body. */
  readonly body: BodyShare | null;
  /**
   * Its answer can be large, so it is refused while too many answers of its share wait for their
   * readers. null: it never is, or the request must not be refused for it.
   */
  readonly largeAnswer: AnswerShare | null;
  /**
   * Room for its answer is reserved before the answer is made (`answer-budget.ts`), so the request
   * is taken however many answers wait.
   */
  readonly reserves: boolean;
  /** A GET that changes something; every other one is answered to HEAD too, without the body. */
  readonly consumes: boolean;
  /** Acts on one tenant's rows; the others describe the node and read no tenant. */
  readonly scoped: boolean;
  /** Begins the error's text when `handle` throws a `JsonError`. */
  readonly badBody: string;
  /** A `JsonError` is answered 400 `bad_body`; whatever else is thrown, 500, and logged. */
  handle(front: Front, request: RouteRequest): void;
}

/** The methods that the route answers. */
export function methodsOf({ method, consumes }: Route): readonly string[] {
  return method === 'GET' && !consumes ? ['GET', 'HEAD'] : [method];
}

/** What most routes have in common, to be spread into theirs. */
export const ROUTE_DEFAULTS = {
  ignoresQuery: false,
  body: null,
  largeAnswer: null,
  reserves: false,
  consumes: false,
  scoped: true,
  badBody: 'bad body',
} as const;
