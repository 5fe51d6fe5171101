/**
 * One declaration per endpoint: the record that an endpoint is. The route, what its handler gets,
 * the OpenAPI document, the table of access levels in the documents and the types of clients
 * (`api.ts`) derive from it, so nothing about an endpoint stands in a second place:
 *
 *     export const seekQueueEndpoint = endpoint({
 *       at: 'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek',
 *       level: 'read-write',
 *       gateway: 'queue-admin',
 *       tag: 'consumer groups',
 *       summary: 'Moves every cursor of a group at a queue.',
 *       request: { share: 'drain', form: seekForm, schema: either(toEnd, toInstant) },
 *       names: ({ params }) => params,
 *       answers: { 200: answer('Leases and attempts of the cursors are gone.', seekAnswer) },
 *       handle: (front, { exchange, tenant, params, body }) => ...
 *     });
 *
 * A request is read in this order, and the first thing that is wrong is what it is answered: the
 * query, its page, the body, `check`, `names`. What a record leaves to a reader by hand comes to
 * `handle` as it was sent.
 *
 * Access levels have a second, independent list: `server/levels.test.ts`.
 */
import type { Refusal } from '@svc/engine';
import type { AnySchema, Json, Schema } from '@svc/schema';
import { errorAnswer } from '@svc/wire';
import type { BodyShare } from '../exchange/body-budget.js';
import { badRequest } from '../exchange/errors.js';
import { type KeyNames, keyNamesRefusal } from '../exchange/name-budget.js';
import { listPagingOf } from '../exchange/paging.js';
import { isFault, parseQuery } from '../exchange/query.js';
import { JsonError } from '../json/json-error.js';
import {
  PAGE_QUERY,
  type Parameters,
  type QueryParameter,
  type ValuesOf,
  valuesOf,
} from './query-parameter.js';
import { type Call, type Front, ROUTE_DEFAULTS, type Route } from './route.js';

/** Groups of endpoints in tools that show the document, in their order there. */
export const TAGS = {
  messages: 'Push, pop, acknowledge, transactions, and single messages.',
  queues: 'Queues, their options and what they hold.',
  'reads by position': 'Records by their offset, without a lease.',
  'consumer groups': 'Groups, their cursors and positions.',
  'dead letters': 'Messages that were given up.',
  traces: 'Notes about messages.',
  'ephemeral queues': 'In-memory queues for short-lived messages.',
  kv: 'The key/value store.',
  streams: 'State and cycles of streaming queries.',
  locks: 'Locks and semaphores.',
  operations: 'Switches, grants and the end of a tenant.',
  timers: 'Messages that are delivered later.',
  node: 'What a node says of itself.',
  membership: 'The members of the cluster.',
  analytics: 'Figures over time.',
} as const;

interface DescribedBody {
  /** The share of the memory for bodies that it is read into. */
  readonly share: BodyShare;
  /** Where the one that is made of the schema would mislead. */
  readonly example?: Json;
  /** The endpoint answers without one too: an empty body has no members. */
  readonly optional?: true;
}

export interface Form {
  readonly schema: AnySchema;
  /** Throws `JsonError` for a body of another shape. */
  readonly read: (bytes: Buffer) => unknown;
  /** The same, and an empty body has no members. */
  readonly readOrEmpty?: (bytes: Buffer) => unknown;
}

interface BodyReadByForm extends DescribedBody {
  readonly form: Form;
  /** Where it is not that of the form: what the members must be together. */
  readonly schema?: AnySchema;
  /** An empty body is read as one without members, which the endpoint refuses in its own words. */
  readonly emptyIsRead?: true;
  /** A body of another shape is read as if it were empty, and never refused: it is optional. */
  readonly lenient?: true;
}

interface BodyReadByHand extends DescribedBody {
  /** Why it is not read by a form. */
  readonly reader: string;
  /**
   * Throws `JsonError` for a body of another shape, and `RequestFault` for one that asks for what
   * cannot be. Without it `handle` gets the bytes.
   */
  readonly read?: (bytes: Buffer) => unknown;
  readonly schema: AnySchema;
}

export type RequestBody = BodyReadByForm | BodyReadByHand;

export interface DescribedAnswer<Body extends AnySchema | null = AnySchema | null> {
  readonly description: string;
  /** null: no body. */
  readonly schema: Body;
  /** Where the one that is made of the schema would mislead. */
  readonly example?: Json;
  /** `application/json` when absent. */
  readonly contentType?: string;
}

/** A query that is read by hand. */
export interface ExactQuery {
  /** Why. */
  readonly reader: string;
  readonly parameters: Readonly<Record<string, QueryParameter>>;
}

/**
 * What a tool or a reader is told of an endpoint, besides its route. By status, its own answers;
 * what every endpoint of its kind can answer besides is added where the document is made: refusals
 * of the tenant, of the credential, of the body's bytes, of a node without leader.
 */
export interface Description<
  At extends string = string,
  Query = Readonly<Record<string, QueryParameter>>,
  Request = RequestBody | undefined,
  Answers = Readonly<Record<number, DescribedAnswer>>,
> {
  /** Method and path. */
  readonly at: At;
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  /** Where the operation's id does not follow from method and path. */
  readonly id?: string;
  readonly query: Query;
  readonly request: Request;
  readonly answers: Answers;
}

/** A route with its description; without type arguments, any endpoint. */
export interface Endpoint<
  At extends string = string,
  Query = Readonly<Record<string, QueryParameter>>,
  Request = RequestBody | undefined,
  Answers = Readonly<Record<number, DescribedAnswer>>,
> extends Route,
    Description<At, Query, Request, Answers> {}

export function schemaOf(request: RequestBody): AnySchema {
  return 'form' in request ? (request.schema ?? request.form.schema) : request.schema;
}

/** Names of the `{...}` segments of a path. */
type SegmentsOf<At extends string> = At extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Tail}...` ? Tail : Name) | SegmentsOf<Rest>
  : never;

export type ParamsOf<At extends string> = { readonly [Name in SegmentsOf<At>]: string };

type QueryValues<Query> = Query extends Parameters ? ValuesOf<Query> : string;

interface ReadBy<Value> {
  readonly read: (bytes: Buffer) => Value;
}

type BodyValue<Request> = Request extends
  | { readonly form: ReadBy<infer Value> }
  | ReadBy<infer Value>
  ? Value
  : Buffer;

type CallOf<At extends string, Query, Request> = Call<
  ParamsOf<At>,
  QueryValues<Query>,
  BodyValue<Request>
>;

type Answers = Readonly<Record<number, DescribedAnswer>>;

/** Members that are not given are as in `ROUTE_DEFAULTS`. */
interface Declaration<At extends string, Query, Exact, Letter, Request, Answered>
  extends Pick<Description, 'tag' | 'summary' | 'id'>,
    Pick<Route, 'level' | 'gateway'>,
    Partial<
      Pick<Route, 'largeAnswer' | 'reserves' | 'consumes' | 'scoped' | 'badBody' | 'ignoresQuery'>
    > {
  readonly at: At;
  readonly answers: Answered;
  readonly query?: Query;
  readonly exactQuery?: Exact;
  /**
   * The list is answered in pages where `limit` or `after` asks for one. The letter of the list
   * begins its places, so that a place of another list is refused.
   */
  readonly page?: Letter | ((query: QueryValues<Query>) => Letter);
  readonly request?: Request;
  /** Throws `RequestFault` for what is refused before the names are looked at. */
  readonly check?: (call: CallOf<At, Query, Request>) => void;
  /** The names that have to fit into keys of the store. */
  readonly names?: (call: CallOf<At, Query, Request>) => KeyNames | readonly KeyNames[];
  /** Answers where they do not; 413 `name_too_long` where there is none. */
  readonly tooLong?: (call: CallOf<At, Query, Request>, refusal: Refusal) => void;
  readonly handle: (front: Front, call: CallOf<At, Query, Request>) => void;
}

type NoQuery = Readonly<Record<never, never>>;

type DescribedQuery<Query, Exact, Letter> = (Exact extends ExactQuery
  ? Exact['parameters']
  : Query extends Parameters
    ? Query
    : NoQuery) &
  (Letter extends string ? typeof PAGE_QUERY : NoQuery);

export function endpoint<
  const At extends `${Route['method']} /${string}`,
  const Answered extends Answers,
  Query extends Parameters | undefined = undefined,
  Exact extends ExactQuery | undefined = undefined,
  Letter extends string | undefined = undefined,
  Request extends RequestBody | undefined = undefined,
>(
  declared: Declaration<At, Query, Exact, Letter, Request, Answered>,
): Endpoint<At, DescribedQuery<Query, Exact, Letter>, Request, Answered> {
  const { query, exactQuery, page, request, ...others } = declared;
  const [method, path] = declared.at.split(' ') as [Route['method'], string];
  return {
    ...ROUTE_DEFAULTS,
    ...others,
    method,
    path,
    query: queryOf<DescribedQuery<Query, Exact, Letter>>(declared as unknown as AnyDeclaration),
    request: request as Request,
    body: request?.share ?? null,
    handle: handlerOf(declared as unknown as AnyDeclaration),
  };
}

type AnyDeclaration = Declaration<
  string,
  Parameters | undefined,
  ExactQuery | undefined,
  string | undefined,
  RequestBody | undefined,
  Answers
>;

function queryOf<Described>({ query, exactQuery, page }: AnyDeclaration): Described {
  const parameters = exactQuery?.parameters ?? query ?? {};
  return (page === undefined ? parameters : { ...parameters, ...PAGE_QUERY }) as Described;
}

type AnyCall = CallOf<string, Parameters | undefined, RequestBody | undefined>;

/** Reads what the record says, and hands it on; a request of which nothing is said as it came. */
function handlerOf(declared: AnyDeclaration): Route['handle'] {
  const { query, page, request, check, names, tooLong } = declared;
  const handle = declared.handle as (front: Front, call: unknown) => void;
  const read = request === undefined ? undefined : readerOf(request);
  const readsQuery = query !== undefined || page !== undefined;
  if (!readsQuery && read === undefined && check === undefined && names === undefined) {
    return handle;
  }
  return (front, request) => {
    const call: { -readonly [Name in keyof AnyCall]: unknown } = { ...request };
    if (readsQuery) {
      const parsed = parseQuery(request.query);
      if (isFault(parsed)) {
        request.exchange.refuse(badRequest(parsed.fault));
        return;
      }
      const values = valuesOf(query ?? {}, parsed);
      call.query = values;
      if (page !== undefined) {
        const letterOf = page as string | ((query: unknown) => string);
        call.page = listPagingOf(
          parsed,
          typeof letterOf === 'string' ? letterOf : letterOf(values),
        );
      }
    }
    if (read !== undefined) call.body = read(request.body);
    const whole = call as AnyCall;
    check?.(whole);
    const refusal = names === undefined ? null : keyNamesRefusal(request.tenant, names(whole));
    if (refusal === null) handle(front, whole);
    else if (tooLong === undefined) request.exchange.refuse(refusal);
    else tooLong(whole, refusal);
  };
}

/** What it throws (`JsonError`, `RequestFault`), the server answers. */
function readerOf(request: RequestBody): BodyReadByHand['read'] {
  if (!('form' in request)) return request.read;
  const { form, optional, emptyIsRead, lenient } = request;
  const mayBeEmpty = optional === true || emptyIsRead === true;
  const read = (mayBeEmpty ? form.readOrEmpty : undefined) ?? form.read;
  if (lenient !== true) return read;
  return (body) => {
    try {
      return read(body);
    } catch (error) {
      if (error instanceof JsonError) return read(NO_BODY);
      throw error;
    }
  };
}

const NO_BODY = Buffer.alloc(0);

export function refusal(description: string): DescribedAnswer<typeof errorAnswer> {
  return { description, schema: errorAnswer };
}

/** Clients learn what the answer holds, and not what it is made of. */
export function answer<Value>(
  description: string,
  schema: Schema<Value>,
  example?: Json,
): DescribedAnswer<Schema<Value>> {
  return { description, schema, ...(example === undefined ? {} : { example }) };
}

/** 507: only writes that make what is stored grow. */
export const STORAGE_FULL = refusal('`storage_full`: the disk of at least one node is too full.');
