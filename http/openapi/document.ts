/**
 * The OpenAPI 3.1 document of everything that the front serves, made of the routes themselves and
 * of what is said of each (`operations.ts`).
 *
 * The difficulty is that it says a second time what hand-written parsers and renderers do, and that
 * nothing falls over when the two differ: a client generator does, a year later. Making one from
 * the other was weighed and rejected in both directions. Parsers made from schemas could not keep
 * payloads as byte ranges of the body, would cost the hot path a tree per request, and could not
 * give the error texts that the contract spells out. Schemas made from parsers need a description
 * in the parsers, which is this document in another place. So they stay apart, and are held
 * together where they can differ:
 *
 * - **Routes.** Methods, paths and access levels are read off the routes, never written again. A
 *   route without an operation, or an operation without a route, fails a test.
 * - **Names.** The schema of a body is made over the very key set that its parser reads by, so that
 *   a field of one that the other lacks does not compile. The schema of an answer is made over the
 *   wire type that its renderer fills in, and is exact: a member more or less, another type,
 *   another nullability do not compile either.
 * - **Kinds of values.** Every answer of every contract table, on one node and on three, must be
 *   valid, and may have no member that its schema lacks; every body that the tables send must be
 *   taken or refused by its schema as it was by the server. Since tables send little nonsense, a
 *   test sends the parsers what each body becomes when its members are left out or replaced by
 *   values of every kind, and compares again (`test/contract/body-agreement.ts`).
 *
 * What a schema cannot say is left to the parsers, and named in that test: members that stand
 * twice, lone surrogates, `1.0` for an integer, bounds in bytes.
 *
 * It is public: it is the same on every node of a version and says nothing of one, and tools fetch
 * it before they have a credential.
 */
import { type AnySchema, addUse, either, type Json, type JsonObject } from '@svc/schema';
import { errorAnswer, TENANT_HEADER, VERSION } from '@svc/wire';
import type { Route } from '../routing/route.js';
import { type Operation, type OperationAnswer, type Operations, refusal } from './operation.js';

const JSON_TYPE = 'application/json';

export function openApiDocument(routes: readonly Route[], operations: Operations): JsonObject {
  const paths: { [path: string]: { [method: string]: JsonObject } } = {};
  const schemas = new Map<string, JsonObject>();
  for (const route of routes) {
    const operation = operations[`${route.method} ${route.path}`];
    if (operation === undefined) continue;
    // There, one name stands for a segment: clients escape the slashes in it.
    const template = route.path.replace('...}', '}');
    const path = paths[template] ?? {};
    paths[template] = path;
    path[route.method.toLowerCase()] = operationObject(route, operation);
    for (const schema of schemasOf(operation)) {
      for (const [name, json] of schema.uses) addUse(schemas, name, json);
    }
  }
  for (const [name, json] of errorAnswer.uses) addUse(schemas, name, json);
  const tags = new Set(Object.values(operations).map(({ tag }) => tag));
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version: VERSION,
      description: 'A message broker over HTTP and JSON.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Where the broker is set up to ask for one.',
        },
      },
    },
  };
}

function operationObject(route: Route, operation: Operation): JsonObject {
  const { tag, summary, body } = operation;
  const parameters = [...pathParameters(route), ...queryParameters(operation), ...headers(route)];
  return {
    operationId: operation.id ?? operationId(route),
    tags: [tag],
    summary,
    'x-level': route.level,
    security: route.level === 'public' ? [] : [{ token: [] }, {}],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.optional !== true,
            content: { [JSON_TYPE]: { schema: body.schema.json } },
            ...(body.lenient === true ? { 'x-lenient': true } : {}),
          },
        }),
    responses: Object.fromEntries(
      Object.entries(answersOf(route, operation)).map(([status, one]) => [
        status,
        response(one, status === '503'),
      ]),
    ),
  };
}

/** `GET /api/v1/pop/queue/{queue}` is `getPopQueueByQueue`. */
function operationId({ method, path }: Route): string {
  const words = path
    .replace(/^\/api\/v1\//, '')
    .replace('...', '')
    .split(/[/.-]/)
    .filter((word) => word !== '')
    .map((word) => (word.startsWith('{') ? `by-${word.slice(1, -1)}` : word))
    .flatMap((word) => word.split('-'));
  const capital = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return method.toLowerCase() + capital.join('');
}

function pathParameters({ path }: Route): JsonObject[] {
  return [...path.matchAll(/\{(\w+)(?:\.{3})?\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
}

function queryParameters({ query = [] }: Operation): JsonObject[] {
  return query.map(({ name, description, schema, required }) => ({
    name,
    in: 'query',
    description,
    ...(required === true ? { required } : {}),
    schema: schema.json,
  }));
}

function headers({ scoped }: Route): JsonObject[] {
  if (!scoped) return [];
  return [
    {
      name: TENANT_HEADER,
      in: 'header',
      description: 'The tenant, where the broker is set up to read it.',
      schema: { type: 'string', format: 'uuid' },
    },
  ];
}

const RETRY_AFTER = {
  'Retry-After': { description: 'In seconds.', schema: { type: 'integer', minimum: 1 } },
};

function response(one: OperationAnswer, isTransient: boolean): JsonObject {
  const { description, schema, contentType = JSON_TYPE } = one;
  const headers = isTransient ? { headers: RETRY_AFTER } : {};
  if (schema === null) return { description, ...headers };
  return { description, ...headers, content: { [contentType]: { schema: schema.json } } };
}

/** What the operation says, and what every route of its kind can answer besides. */
export function answersOf(
  route: Route,
  { answers }: Operation,
): Readonly<Record<number, OperationAnswer>> {
  const all: Record<number, OperationAnswer> = { ...answers };
  for (const [status, description] of Object.entries(commonRefusals(route))) {
    const own = answers[Number(status)];
    all[Number(status)] =
      own?.schema === undefined || own.schema === null
        ? refusal(description)
        : { ...own, schema: withError(own.schema) };
  }
  return all;
}

function commonRefusals({ level, scoped, body }: Route): Readonly<Record<number, string>> {
  return {
    ...(scoped ? { 400: 'A malformed path, query, header or body.' } : {}),
    ...(level === 'public' ? {} : { 401: 'No credential, or one that is not valid.' }),
    ...(scoped || level !== 'public' ? { 403: 'Not for this caller, or a reserved tenant.' } : {}),
    ...(body === null
      ? {}
      : {
          400: 'A malformed path, query, header or body.',
          408: 'The body arrives too slowly.',
          413: 'The body, or a name in it, is too long.',
          415: 'The body has a Content-Encoding.',
          501: 'A transfer coding that is not known.',
        }),
    500: 'A fault of the broker.',
    503: 'Not at the moment: try again after `Retry-After` seconds, here or elsewhere.',
  };
}

function withError(schema: AnySchema): AnySchema {
  const isError = (json: Json): boolean => JSON.stringify(json).includes('/schemas/Error"');
  return isError(schema.json) ? schema : either(schema, errorAnswer);
}

function schemasOf({ query = [], body, answers }: Operation): AnySchema[] {
  const answered = Object.values(answers).flatMap(({ schema }) =>
    schema === null ? [] : [schema],
  );
  return [
    ...query.map(({ schema }) => schema),
    ...(body === undefined ? [] : [body.schema]),
    ...answered,
  ];
}
