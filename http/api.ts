/**
 * The types of requests and answers, for clients. They derive from the records of the endpoints,
 * and nothing of this module is there when a program runs:
 *
 *     import type { Answer, Api } from '@svc/http/api';
 *     type Seek = Api['POST /api/v1/consumer-groups/{group}/queues/{queue}/seek'];
 *     type Body = Seek['body'];
 *     type Moved = Answer<'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek'>;
 *
 * Members that a body may have and that are not read are left out. Answers are those that the
 * record of the endpoint names; every endpoint may answer `Refused` besides.
 */
import type { Infer } from '@svc/schema';
import type { errorAnswer } from '@svc/wire';
import type * as endpoints from './endpoints/index.js';
import type { ParamsOf } from './routing/endpoint.js';

type All = (typeof endpoints)[keyof typeof endpoints];

/** By method and path. */
export type Api = { readonly [Record in All as Record['at']]: Operation<Record> };

/** What an operation answers with 200. */
export type Answer<At extends keyof Api> = Api[At]['answers'] extends { readonly 200: infer Body }
  ? Body
  : never;

/** `{"error","code"}`, of any status from 400 on. */
export type Refused = Infer<typeof errorAnswer>;

interface Described {
  readonly at: string;
  readonly query: object;
  readonly request: unknown;
  readonly answers: object;
}

export interface Operation<Record extends Described> {
  /** Segments of the path, not encoded. */
  readonly params: ParamsOf<Record['at']>;
  readonly query: QueryOf<Record['query']>;
  /** undefined: it takes none. */
  readonly body: BodyOf<Record['request']>;
  /** By status; undefined: without a body. */
  readonly answers: AnswersOf<Record['answers']>;
}

type Flat<Type> = { [Name in keyof Type]: Type[Name] };

type RequiredOf<Query> = {
  [Name in keyof Query]: Query[Name] extends { readonly required: true } ? Name : never;
}[keyof Query];

type Said<Parameter> = Parameter extends { readonly schema: infer Described }
  ? Infer<Described>
  : never;

type QueryOf<Query> = Flat<
  { readonly [Name in RequiredOf<Query>]: Said<Query[Name]> } & {
    readonly [Name in Exclude<keyof Query, RequiredOf<Query>>]?: Said<Query[Name]>;
  }
>;

type BodyOf<Request> = Request extends undefined
  ? undefined
  : Request extends { readonly optional: true }
    ? ReadBody<Request> | undefined
    : ReadBody<Request>;

type ReadBody<Request> = Request extends { readonly schema: infer Described }
  ? Infer<Described>
  : Request extends { readonly form: { readonly schema: infer Described } }
    ? Infer<Described>
    : never;

type AnswersOf<Answers> = {
  readonly [Status in keyof Answers]: Answers[Status] extends { readonly schema: infer Described }
    ? Described extends null
      ? undefined
      : Infer<Described>
    : never;
};
