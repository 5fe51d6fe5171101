/**
 * The OpenAPI 3.1 document of everything that the front serves, made of the endpoints' own records
 * (`routing/endpoint.ts`).
 *
 * Methods, paths, levels and answers are read off the records. The types of answers are inferred
 * from the same schemas. Schemas of bodies that are read by hand are made over the key set of their
 * reader, so that a field which one of them lacks does not compile; what else a hand reader and its
 * schema could disagree on is compared by tests:
 *
 * - Every answer of every contract table, on one node and on three, must be valid, and may have no
 *   member that its schema lacks; every body that the tables send must be taken or refused by its
 *   schema as it was by the server.
 * - Since tables send little nonsense, a test sends the parsers what each body becomes when its
 *   members are left out or replaced by values of every kind, and compares again
 *   (`test/contract/body-agreement.ts`).
 *
 * What a schema cannot say is left to the parsers, and named in that test: members that stand
 * twice, lone surrogates, `1.0` for an integer, bounds in bytes.
 *
 * It is public: it is the same on every node of a version and says nothing of one, and tools fetch
 * it before they have a credential.
 */
import {
  type AnySchema,
  addUse,
  anything,
  either,
  type Json,
  type JsonObject,
  record,
} from '@svc/schema';
import { errorAnswer, TENANT_HEADER, VERSION } from '@svc/wire';
import {
  answer,
  type DescribedAnswer,
  type Endpoint,
  endpoint,
  refusal,
  schemaOf,
  TAGS,
} from '../routing/endpoint.js';
import { answerExample, requestExample } from './example.js';

const JSON_TYPE = 'application/json';

export function openApiDocument(endpoints: readonly Endpoint[]): JsonObject {
  const paths: { [path: string]: { [method: string]: JsonObject } } = {};
  const schemas = new Map<string, JsonObject>();
  for (const endpoint of endpoints) {
    // There, one name stands for a segment: clients escape the slashes in it.
    const template = endpoint.path.replace('...}', '}');
    const path = paths[template] ?? {};
    paths[template] = path;
    path[endpoint.method.toLowerCase()] = operationObject(endpoint);
    for (const schema of schemasOf(endpoint)) {
      for (const [name, json] of schema.uses) addUse(schemas, name, json);
    }
  }
  for (const [name, json] of errorAnswer.uses) addUse(schemas, name, json);
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version: VERSION,
      description: 'A message broker over HTTP and JSON.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
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

function operationObject(endpoint: Endpoint): JsonObject {
  const { tag, summary, request } = endpoint;
  const parameters = [
    ...pathParameters(endpoint),
    ...queryParameters(endpoint),
    ...headers(endpoint),
  ];
  return {
    operationId: endpoint.id ?? operationId(endpoint),
    tags: [tag],
    summary,
    'x-level': endpoint.level,
    security: endpoint.level === 'public' ? [] : [{ token: [] }, {}],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(request === undefined
      ? {}
      : {
          requestBody: {
            required: request.optional !== true,
            content: {
              [JSON_TYPE]: {
                schema: schemaOf(request).json,
                example: request.example ?? requestExample(schemaOf(request)),
              },
            },
            ...('lenient' in request ? { 'x-lenient': true } : {}),
          },
        }),
    responses: Object.fromEntries(
      Object.entries(answersOf(endpoint)).map(([status, one]) => [status, response(one, status)]),
    ),
  };
}

/** `GET /api/v1/pop/queue/{queue}` is `getPopQueueByQueue`. */
function operationId({ method, path }: Endpoint): string {
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

function pathParameters({ path }: Endpoint): JsonObject[] {
  return [...path.matchAll(/\{(\w+)(?:\.{3})?\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
}

function queryParameters({ query }: Endpoint): JsonObject[] {
  return Object.entries(query).map(([name, { description, schema, required }]) => ({
    name,
    in: 'query',
    description,
    ...(required === true ? { required } : {}),
    schema: schema.json,
  }));
}

function headers({ scoped }: Endpoint): JsonObject[] {
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

function response(one: DescribedAnswer, status: string): JsonObject {
  const { description, schema, contentType = JSON_TYPE } = one;
  const headers = status === '503' ? { headers: RETRY_AFTER } : {};
  if (schema === null) return { description, ...headers };
  const isShown = status.startsWith('2') && contentType === JSON_TYPE;
  const example = isShown ? { example: one.example ?? answerExample(schema) } : {};
  return {
    description,
    ...headers,
    content: { [contentType]: { schema: schema.json, ...example } },
  };
}

/** What the record says, and what every endpoint of its kind can answer besides. */
function answersOf(endpoint: Endpoint): Readonly<Record<number, DescribedAnswer>> {
  const { answers } = endpoint;
  const all: Record<number, DescribedAnswer> = { ...answers };
  for (const [status, description] of Object.entries(commonRefusals(endpoint))) {
    const own = answers[Number(status)];
    all[Number(status)] =
      own?.schema === undefined || own.schema === null
        ? refusal(description)
        : { ...own, schema: withError(own.schema) };
  }
  return all;
}

function commonRefusals({ level, scoped, body }: Endpoint): Readonly<Record<number, string>> {
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

function schemasOf({ query, request, answers }: Endpoint): AnySchema[] {
  const answered = Object.values(answers).flatMap(({ schema }) =>
    schema === null ? [] : [schema],
  );
  return [
    ...Object.values(query).map(({ schema }) => schema),
    ...(request === undefined ? [] : [schemaOf(request)]),
    ...answered,
  ];
}

/** By tag, in the order of the tags; `docs/api.md` has it under "All endpoints". */
export function accessTable(endpoints: readonly Endpoint[]): string {
  const rows = Object.keys(TAGS).flatMap((tag) =>
    endpoints.filter((one) => one.tag === tag).map(rowOf),
  );
  return ['| Endpoint | Level | What it does |', '| --- | --- | --- |', ...rows].join('\n');
}

function rowOf({ method, path, level, summary }: Endpoint): string {
  const text = summary.endsWith('.') ? summary.slice(0, -1) : summary;
  return `| \`${method} ${path}\` | ${level} | ${text.replaceAll('|', '\\|')} |`;
}

/** Describes `endpoints` and itself; made when it is first asked for, and shared by all answers. */
export function openApiEndpoint(endpoints: readonly Endpoint[]): Endpoint {
  let bytes: Buffer | null = null;
  const own = endpoint({
    at: 'GET /openapi.json',
    level: 'read-only',
    gateway: 'read',
    tag: 'node',
    summary: 'This document.',
    answers: { 200: answer('OpenAPI 3.1.', record(anything)) },
    largeAnswer: 'read',
    scoped: false,
    handle: (_, { exchange }) => {
      bytes ??= Buffer.from(JSON.stringify(openApiDocument([...endpoints, own])));
      exchange.jsonBytes('200 OK', bytes);
    },
  });
  return own;
}
