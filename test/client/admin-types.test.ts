// Goal: each route of the broker has a method of the client, with types that say what the broker
// takes and answers: a route that is added, and a member that changes, fail here. Method: the types
// of the endpoints, which clients cannot have; the compiler of the tests is the judge.
import type { AdminApi } from '@svc/client';
import type { Api } from '@svc/http/api';
import { expectTypeOf, test } from 'vitest';

/** What other methods of the client call, and what is another name of a route. */
type Elsewhere =
  | 'POST /api/v1/push'
  | 'GET /api/v1/pop'
  | 'GET /api/v1/pop/queue/{queue}'
  | 'GET /api/v1/pop/queue/{queue}/partition/{partition}'
  | 'POST /api/v1/pop/queue/{queue}'
  | 'POST /api/v1/pop/queue/{queue}/partition/{partition}'
  | 'POST /api/v1/ack'
  | 'POST /api/v1/ack/batch'
  | 'POST /api/v1/lease/{leaseId}/extend'
  | 'POST /api/v1/transaction'
  | 'POST /api/v1/kv'
  | 'GET /api/v1/kv/{ns}/{key...}'
  | 'PUT /api/v1/kv/{ns}/{key...}'
  | 'DELETE /api/v1/kv/{ns}/{key...}'
  | 'POST /api/v1/locks'
  | 'POST /api/v1/timers'
  | 'GET /api/v1/timers/{queue}'
  | 'GET /api/v1/timers/{queue}/{timerKey...}'
  | 'DELETE /api/v1/timers/{queue}/{timerKey...}'
  | 'POST /api/v1/ephemeral/push'
  | 'GET /api/v1/ephemeral/pop'
  | 'POST /api/v1/ephemeral/ack'
  | 'POST /api/v1/ephemeral/configure'
  | 'POST /api/v1/ephemeral/reset'
  | 'DELETE /api/v1/ephemeral/queue/{queue}'
  | 'POST /streams/v1/queries'
  | 'POST /streams/v1/state/get'
  | 'POST /streams/v1/cycle'
  | 'POST /api/v1/system/quota'
  | 'POST /api/v1/system/quotas';

test('each route is a method of admin, or called by another part of the client', () => {
  expectTypeOf<keyof Api>().toEqualTypeOf<keyof AdminApi | Elsewhere>();
  expectTypeOf<keyof AdminApi & Elsewhere>().toEqualTypeOf<never>();
});

type Answers = Readonly<Record<string, { readonly 200: unknown } | { readonly 201: unknown }>>;
type Succeeded<Op> = Op extends { readonly answers: infer All }
  ? All extends Answers[string]
    ? All[keyof All & (200 | 201)]
    : never
  : never;

/** The routes whose answers differ: an answer is compared member by member, however deep. */
type Differing = {
  [At in keyof AdminApi]: Same<AdminApi[At]['answer'], Succeeded<Api[At]>> extends true
    ? never
    : At;
}[keyof AdminApi];

type Same<A, B> = [Shape<A>] extends [Shape<B>]
  ? [Shape<B>] extends [Shape<A>]
    ? true
    : false
  : false;

/** With members that may be absent as members that may be undefined. */
type Shape<T> = T extends readonly (infer Item)[]
  ? readonly Shape<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]-?: readonly [Shape<T[Name]>, IsOptional<T, Name>] }
    : T;

type IsOptional<T, Name extends keyof T> = Partial<Pick<T, Name>> extends Pick<T, Name> ? 1 : 0;

test('answers are those of the endpoints', () => {
  expectTypeOf<Differing>().toEqualTypeOf<never>();
});

type QueryOf<Op> = Op extends { readonly query: infer Query } ? Query : never;
/** Numbers and truths travel as texts. */
type Names<Query> = { readonly [Name in keyof Query]: unknown };

test('queries have the names of the endpoints, and what must be there must be', () => {
  expectTypeOf<{ [At in keyof AdminApi]: Names<OrNone<QueryOf<AdminApi[At]>>> }>().toEqualTypeOf<{
    [At in keyof AdminApi]: Names<Api[At]['query']>;
  }>();
});

// biome-ignore lint/complexity/noBannedTypes: the type of a query without names
type OrNone<Query> = [Query] extends [never] ? {} : Query;

type BodyOf<Op> = 'body' extends keyof Op ? Op['body' & keyof Op] : undefined;
/** Other spellings of members, and what the path says already. */
type Spellings = Readonly<{
  'POST /api/v1/configure': Exclude<keyof ConfigureBody, 'queue' | 'mode' | 'options'>;
  'POST /api/v1/traces': 'transaction_id' | 'partition_id' | 'names' | 'type';
  'POST /api/v1/resources/quota': GrantSpelling;
  'POST /api/v1/system/raft/membership/learners': 'nodeId' | 'ids' | 'voters' | 'to' | 'force';
  'POST /api/v1/system/raft/membership/promote':
    | 'id'
    | 'nodeId'
    | 'raft'
    | 'http'
    | 'voters'
    | 'to'
    | 'force';
  'PUT /api/v1/system/raft/membership/voters':
    | 'id'
    | 'nodeId'
    | 'raft'
    | 'http'
    | 'ids'
    | 'to'
    | 'force';
  'DELETE /api/v1/system/raft/membership/members/{id}':
    | 'id'
    | 'nodeId'
    | 'raft'
    | 'http'
    | 'ids'
    | 'voters'
    | 'to'
    | 'force';
  'POST /api/v1/system/raft/transfer':
    | 'id'
    | 'nodeId'
    | 'raft'
    | 'http'
    | 'ids'
    | 'voters'
    | 'force';
  'DELETE /api/v1/resources/tenant': 'tenant' | 'tenantId' | 'tenant_id';
}>;
type ConfigureBody = Extract<Api['POST /api/v1/configure']['body'], { readonly options?: null }>;
type GrantBody = Api['POST /api/v1/resources/quota']['body'];
type GrantSpelling = 'tenantId' | Extract<keyof GrantBody, `${string}_${string}`>;
type SpellingsOf<At> = At extends keyof Spellings ? Spellings[At] : never;
type KeysOf<Body> = Body extends object ? keyof Body : never;
type Missing<At extends keyof AdminApi> = Exclude<
  KeysOf<Api[At]['body']>,
  KeysOf<BodyOf<AdminApi[At]>> | SpellingsOf<At>
>;
type Unsendable = {
  [At in keyof AdminApi]: BodyOf<AdminApi[At]> extends Api[At]['body'] ? never : At;
}[keyof AdminApi];

test('bodies are taken by the endpoints, and have all of their members', () => {
  // The type of this one has members of any kind that have to be there, which they have not.
  expectTypeOf<Unsendable>().toEqualTypeOf<'POST /api/v1/traces'>();
  expectTypeOf<{ [At in keyof AdminApi]: Missing<At> }[keyof AdminApi]>().toEqualTypeOf<never>();
});
