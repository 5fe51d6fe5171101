/**
 * Holds what went over the wire against `/openapi.json`: every answer must be valid and may have no
 * member that its schema lacks, and a body must be taken or refused by its schema as it was by the
 * server.
 */
import { isUtf8 } from 'node:buffer';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Exchange } from './broker-under-test.js';

type Json = null | boolean | number | string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [name: string]: Json;
}

/** What the judge reads of the document. */
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: JsonObject }>>;
}

interface OperationObject {
  readonly requestBody?: Content & { readonly required: boolean; readonly 'x-lenient'?: boolean };
  readonly responses: Readonly<Record<string, Content>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: JsonObject };
}

const JSON_TYPE = 'application/json';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Refusals of bodies that a schema cannot say, by the error's text: the spelling of JSON, and
 * bounds in bytes.
 */
const UNSAID = [
  /duplicate field/,
  /lone surrogate/,
  /NUL character/,
  /levels of nesting/,
  /byte order mark/,
  /byte limit/,
  /Failed to deserialize/,
  /x-svc-tenant/,
  /locks_(duplicate_in_call|too_many_keys)/,
  /kv_(duplicate_key_in_call|too_many_keys|no_query_string)/,
  /timers_(too_many_ops|encrypted_conflict)/,
  /\(queue, timerKey\) appears more than once/,
  /refusing to purge the default tenant/,
  /^(path|query string)/,
];
/** Statuses that are answered whatever the body is. */
const BEFORE_THE_BODY = new Set([401, 403, 404, 408, 409, 413, 429, 500, 501, 503, 507]);
/** `1.0` and `1e3` are integers to a schema, and none to a reader that keeps spellings. */
const SPELT_AS_FRACTION = /\d(\.\d|[eE])/;

export class OpenApiJudge {
  readonly #document: OpenApi;
  readonly #components: JsonObject;
  readonly #closed: JsonObject;
  readonly #ajv = new Ajv2020({
    strict: false,
    allErrors: false,
    formats: { uuid: UUID, 'date-time': true },
  });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: OpenApi) {
    this.#document = document;
    this.#components = { schemas: document.components.schemas };
    this.#closed = closed(this.#components) as JsonObject;
  }

  /** The path as the document spells it; null: no route. */
  pathOf(method: string, path: string): string | null {
    const [plain = ''] = path.split('?');
    const segments = plain.split('/');
    const candidates = Object.entries(this.#document.paths)
      .filter(([, methods]) => method.toLowerCase() in methods)
      .map(([pattern]) => pattern)
      .filter((pattern) => matches(pattern.split('/'), segments));
    const [best = null] = candidates.sort((a, b) => placeholders(a) - placeholders(b));
    return best;
  }

  /** Throws when something is not as the document says. */
  judge(exchange: Exchange): void {
    const { method, path } = exchange;
    const pattern = this.pathOf(method, path);
    if (pattern === null) return;
    const name = `${method} ${pattern}`;
    const operation = this.#operation(method, pattern);
    this.#judgeAnswer(name, operation, exchange);
    this.#judgeBody(name, operation, exchange);
  }

  /** Whether the schema takes a body; null where it has nothing to say. */
  takes(method: string, pattern: string, body: string): boolean | null {
    const { requestBody } = this.#operation(method, pattern);
    if (requestBody === undefined || requestBody['x-lenient'] === true) return null;
    if (body === '') return !requestBody.required;
    const schema = requestBody.content?.[JSON_TYPE]?.schema;
    if (schema === undefined) return null;
    let parsed: unknown;
    try {
      parsed = JSON.parse(body);
    } catch {
      return false;
    }
    return this.#validator(`${method} ${pattern} body`, schema, this.#components)(parsed);
  }

  #operation(method: string, pattern: string): OperationObject {
    const operation = this.#document.paths[pattern]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`no operation ${method} ${pattern}`);
    return operation;
  }

  #judgeAnswer(name: string, operation: OperationObject, { answer }: Exchange): void {
    const { status, text, headers } = answer;
    const described = operation.responses[`${status}`];
    if (described === undefined) throw new Error(`${name}: status ${status} is not described`);
    const { content } = described;
    if (content === undefined) {
      if (text !== '') throw new Error(`${name} ${status}: a body that is not described: ${text}`);
      return;
    }
    const type = `${headers['content-type']}`;
    const schema = content[type]?.schema;
    if (schema === undefined) throw new Error(`${name} ${status}: content type ${type}`);
    if (type !== JSON_TYPE) return;
    const strict = closed(schema) as JsonObject;
    const validate = this.#validator(`${name} ${status}`, strict, this.#closed);
    if (validate(JSON.parse(text))) return;
    const why = this.#ajv.errorsText(validate.errors);
    throw new Error(`${name} ${status}: ${why}: ${text.slice(0, 500)}`);
  }

  #judgeBody(name: string, operation: OperationObject, exchange: Exchange): void {
    const { method, path, answer } = exchange;
    if (operation.requestBody === undefined || BEFORE_THE_BODY.has(answer.status)) return;
    const body = textOf(exchange.body);
    const taken = this.takes(method, this.pathOf(method, path) as string, body);
    const verdict = taken === null ? null : disagreement(taken, answer.status, answer.text, body);
    if (verdict !== null) throw new Error(`${name}: ${verdict}: ${body.slice(0, 500)}`);
  }

  #validator(key: string, schema: JsonObject, components: JsonObject): ValidateFunction {
    const known = this.#validators.get(key);
    if (known !== undefined) return known;
    const validate = this.#ajv.compile({ ...schema, components });
    this.#validators.set(key, validate);
    return validate;
  }
}

/** What differs between a schema's verdict and the server's; null when nothing does. */
export function disagreement(
  taken: boolean,
  status: number,
  text: string,
  body: string,
): string | null {
  const refused = status === 400;
  if (taken !== refused || BEFORE_THE_BODY.has(status)) return null;
  if (!taken) return 'the server takes what the schema refuses';
  if (UNSAID.some((pattern) => pattern.test(errorOf(text))) || SPELT_AS_FRACTION.test(body)) {
    return null;
  }
  return `the schema takes what the server refuses (${text.slice(0, 200)})`;
}

/** The text that says why, in either family of errors (state-surfaces 0.2). */
function errorOf(text: string): string {
  const { error, reason, detail } = JSON.parse(text) as Record<string, unknown>;
  return [error, reason, detail].filter((one) => typeof one === 'string').join(' ');
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Bytes that are no UTF-8 become a text that is no JSON. */
function textOf(body: Uint8Array | string | undefined): string {
  if (typeof body === 'string') return body;
  const bytes = Buffer.from(body ?? []);
  return isUtf8(bytes) ? utf8.decode(bytes) : 'not UTF-8';
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, i) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]))
  );
}

function placeholders(pattern: string): number {
  return pattern.split('{').length;
}

/** Every object with named members may have no others. */
function closed(json: Json): Json {
  if (Array.isArray(json)) return json.map((one: Json) => closed(one));
  if (typeof json !== 'object' || json === null) return json;
  const inner = Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, closed(value)]),
  );
  const open = 'properties' in json && !('additionalProperties' in json);
  return open ? { ...inner, additionalProperties: false } : inner;
}
