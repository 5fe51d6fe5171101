/**
 * One declaration per endpoint: the record that an endpoint is. The route, the OpenAPI document,
 * the table of access levels in the documents and the types of clients derive from it, so nothing
 * about an endpoint stands in a second place:
 *
 *     export const seekQueueEndpoint = endpoint({
 *       at: 'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek',
 *       level: 'read-write',
 *       tag: 'consumer groups',
 *       summary: 'Moves every cursor of a group at a queue.',
 *       request: { share: 'drain', reader: seekForm, schema: either(toEnd, toInstant) },
 *       answers: { 200: answer('Leases and attempts of the cursors are gone.', seekAnswer) },
 *       handle,
 *     });
 *
 * Access levels have a second, independent list: `server/levels.test.ts`.
 */
import type { AnySchema, Json } from '@svc/schema';
import { errorAnswer } from '@svc/wire';
import type { BodyShare } from '../exchange/body-budget.js';
import { ROUTE_DEFAULTS, type Route } from './route.js';

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

export interface QueryParameter {
  readonly name: string;
  readonly description: string;
  readonly schema: AnySchema;
  readonly required?: true;
}

interface DescribedBody {
  /** The share of the memory for bodies that it is read into. */
  readonly share: BodyShare;
  /** Where the one that is made of the schema would mislead. */
  readonly example?: Json;
  /** The endpoint answers without one too. */
  readonly optional?: true;
  /** A body of another shape is read as if it were absent, and never refused. */
  readonly lenient?: true;
}

interface BodyReadByForm extends DescribedBody {
  /** The form that reads the body, or each entry of its list. */
  readonly reader: { readonly schema: AnySchema };
  /** Where it is not that of the form: what the members must be together. */
  readonly schema?: AnySchema;
}

interface BodyReadByHand extends DescribedBody {
  /** Why it is not read by a form. */
  readonly reader: string;
  readonly schema: AnySchema;
}

export type RequestBody = BodyReadByForm | BodyReadByHand;

export interface DescribedAnswer {
  readonly description: string;
  /** null: no body. */
  readonly schema: AnySchema | null;
  /** Where the one that is made of the schema would mislead. */
  readonly example?: Json;
  /** `application/json` when absent. */
  readonly contentType?: string;
}

/** What a tool or a reader is told of an endpoint, besides its route. */
export interface Description {
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  /** Where the operation's id does not follow from method and path. */
  readonly id?: string;
  readonly query?: readonly QueryParameter[];
  readonly request?: RequestBody;
  /**
   * By status. What every endpoint of its kind can answer besides is added where the document is
   * made: refusals of the tenant, of the credential, of the body's bytes, of a node without leader.
   */
  readonly answers: Readonly<Record<number, DescribedAnswer>>;
}

export interface Endpoint extends Route, Description {}

export function schemaOf(request: RequestBody): AnySchema {
  return isReadByHand(request) ? request.schema : (request.schema ?? request.reader.schema);
}

function isReadByHand(request: RequestBody): request is BodyReadByHand {
  return typeof request.reader === 'string';
}

/** `at`: method and path. What is not given is as in `ROUTE_DEFAULTS`. */
type Declaration = Description &
  Pick<Route, 'level' | 'handle'> &
  Partial<Pick<Route, 'largeAnswer' | 'reserves' | 'consumes' | 'scoped' | 'badBody'>> & {
    readonly at: `${Route['method']} /${string}`;
  };

export function endpoint({ at, ...declared }: Declaration): Endpoint {
  const [method, path] = at.split(' ') as [Route['method'], string];
  return {
    ...ROUTE_DEFAULTS,
    ...declared,
    method,
    path,
    body: declared.request?.share ?? null,
  };
}

export function refusal(description: string): DescribedAnswer {
  return { description, schema: errorAnswer };
}

export function answer(description: string, schema: AnySchema, example?: Json): DescribedAnswer {
  return { description, schema, ...(example === undefined ? {} : { example }) };
}

export function parameter(name: string, description: string, schema: AnySchema): QueryParameter {
  return { name, description, schema };
}

/** 507: only writes that make what is stored grow. */
export const STORAGE_FULL = refusal('`storage_full`: the disk of at least one node is too full.');
