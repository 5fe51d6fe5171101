/**
 * Management: `client.admin` has one method for each route, which `routes.ts` lists. A method takes
 * the parts of the path in their order, then the body if the route has one, then the query, then
 * `{ signal }`:
 *
 *     await client.admin.seekQueue('billing', 'orders', { toEnd: true });
 *     for await (const { queues } of client.admin.pages('queues', { limit: 500 })) { ... }
 */
import { misuse, refuseUnknown } from '../base/checks.js';
import { ClientError, shown } from '../base/errors.js';
import { writeJson } from '../base/write-json.js';
import { type Call, path, type Transport, withQuery } from '../transport/transport.js';
import { type AdminApi, ROUTES, type Route } from './routes.js';

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** One text for each `{...}` of the path. */
type Segments<At extends string> = At extends `${string}{${string}}${infer Rest}`
  ? [name: string | number, ...Segments<Rest>]
  : [];

type BodyOf<Operation> = 'body' extends keyof Operation
  ? Operation extends { readonly body: infer Body }
    ? [body: Body]
    : [body?: Operation['body' & keyof Operation]]
  : [];

type QueryOf<Operation> = Operation extends { readonly query: infer Query }
  ? Partial<Query> extends Query
    ? [query?: Query]
    : [query: Query]
  : [];

export type AdminMethod<At extends keyof AdminApi> = (
  ...given: [
    ...Segments<At>,
    ...BodyOf<AdminApi[At]>,
    ...QueryOf<AdminApi[At]>,
    options?: CallOptions,
  ]
) => Promise<AdminApi[At]['answer']>;

type Methods = {
  readonly [Name in keyof typeof ROUTES]: AdminMethod<(typeof ROUTES)[Name]['at']>;
};

/** Lists that are answered in pages with `limit` or `after`. */
type Paged = {
  readonly [Name in keyof Methods]: AdminApi[(typeof ROUTES)[Name]['at']] extends {
    readonly query: { readonly after?: string };
  }
    ? Name
    : never;
}[keyof Methods];

export interface Admin extends Methods {
  /** The answers of a list page by page: `for await (const page of admin.pages('groups'))`. */
  pages<Name extends Paged>(
    name: Name,
    ...given: Parameters<Methods[Name]>
  ): AsyncGenerator<Awaited<ReturnType<Methods[Name]>>, void, undefined>;
}

const PAGE_ROWS = 100;
/** Methods of older clients, for programs without types. */
const RETIRED = {
  moveMessageToDLQ: "client.ack(message, 'dlq')",
  clearQueue: 'admin.seekQueue(group, queue, { toEnd: true }), or admin.deleteQueue(queue)',
};

export function adminOf(transport: Transport): Admin {
  const methods = Object.entries<Route>(ROUTES).map(([name, route]) => [
    name,
    async (...given: unknown[]) => (await send(transport, termsOf(name, route, given))).body,
  ]);
  const retired = Object.entries(RETIRED).map(([name, write]) => [
    name,
    () => {
      throw new TypeError(`admin.${name} is retired: write ${write}`);
    },
  ]);
  return { ...Object.fromEntries([...methods, ...retired]), pages: pagesOf(transport) } as Admin;
}

/** The call that a method of `client.admin` makes, for whoever reads its answer otherwise. */
export function adminCall<Name extends keyof Methods>(
  name: Name,
  ...given: Parameters<Methods[Name]>
): Call<unknown> {
  return callOf(termsOf(name, ROUTES[name], given));
}

function pagesOf(transport: Transport) {
  return async function* (name: string, ...given: unknown[]) {
    const route = (ROUTES as Readonly<Record<string, Route>>)[name];
    if (route?.query?.includes('after') !== true) {
      throw new TypeError(`pages of ${shown(name)}: write the name of a list, like 'queues'`);
    }
    const terms = termsOf(name, route, given);
    for (let query = { limit: PAGE_ROWS, ...terms.query }; ; ) {
      const { body, header } = await send(transport, { ...terms, query });
      yield body;
      const { nextAfter } = body as { readonly nextAfter?: string | null };
      const after = header('x-svc-next-after') ?? nextAfter;
      if (typeof after !== 'string' || after === '') return;
      query = { ...query, after } as typeof query;
    }
  };
}

type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

interface Terms {
  readonly route: Route;
  readonly path: string;
  readonly body: string | undefined;
  readonly query: QueryValues;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Throws a `TypeError` for what the method does not take. */
function termsOf(name: string, route: Route, given: readonly unknown[]): Terms {
  const { at, query: known = [], body: takesBody } = route;
  const names = [...at.matchAll(/\{(\w+)/g)].map(([, segment = '']) => segment);
  const parts = [...names];
  if (takesBody !== undefined) parts.push('body');
  if (known.length > 0) parts.push('query');
  const form = `admin.${name}(${[...parts, '{ signal }'].join(', ')})`;
  const rest = given.slice(names.length);
  const body = takesBody === undefined ? undefined : rest.shift();
  const query = known.length === 0 ? {} : (rest.shift() ?? {});
  const options = rest.shift() ?? {};
  if (rest.length > 0)
    throw new TypeError(`admin.${name} got ${given.length} arguments: write ${form}`);
  if (takesBody === 'required' && (typeof body !== 'object' || body === null)) {
    throw misuse(`the body of admin.${name}`, body, form);
  }
  refuseUnknown(query, known.join(' '), `the query of admin.${name}`);
  refuseUnknown(options, 'signal', `admin.${name}`);
  return {
    route,
    path: pathOf(at, given, names, form),
    body: body === undefined ? undefined : writeJson(body, 'body'),
    query: query as QueryValues,
    waitMs: (body as { readonly maxWaitMs?: number } | undefined)?.maxWaitMs ?? 0,
    signal: (options as CallOptions).signal,
  };
}

function pathOf(
  at: string,
  given: readonly unknown[],
  names: readonly string[],
  form: string,
): string {
  let nth = 0;
  return at.slice(at.indexOf(' ') + 1).replace(/\{[^}]+\}/g, () => {
    const value = given[nth];
    const name = names[nth++];
    if (typeof value === 'string' || typeof value === 'number') return path`${String(value)}`;
    throw misuse(String(name), value, form);
  });
}

function callOf({ route, path: at, body, query, waitMs, signal }: Terms): Call<unknown> {
  return {
    method: route.at.slice(0, route.at.indexOf(' ')) as 'GET',
    path: withQuery(at, query),
    ...(body === undefined ? {} : { body }),
    repeat: route.repeat ?? 'any',
    ...(waitMs > 0 ? { waitMs } : {}),
    signal,
    ...(route.isText ? { read: (text: string) => text } : {}),
  };
}

async function send(transport: Transport, terms: Terms) {
  const answer = await transport.call(callOf(terms));
  if (answer.body !== null) return answer;
  const text = `${terms.route.at} was answered with nothing`;
  throw new ClientError(text, { status: answer.status, code: 'not_json' });
}
