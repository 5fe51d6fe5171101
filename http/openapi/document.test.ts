/**
 * Goal: `/openapi.json` is a valid OpenAPI 3.1 document, describes every route and nothing else,
 * refers to nothing that it lacks, and still says what it said before. Method: the document itself,
 * a validator that is not ours, the routes, and a pinned document.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../server/routes.js';
import { openApiDocument } from './document.js';

interface OperationObject {
  readonly operationId: string;
  readonly 'x-level': string;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
}

const document = openApiDocument(ROUTES);
const text = JSON.stringify(document);
const paths = document.paths as unknown as Record<string, Record<string, OperationObject>>;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/** The document of an earlier build, without its prose. What stands there must stay. */
const PINNED = new URL('./document.pinned.json.gz', import.meta.url);

/** Where `now` lacks something of `pinned` or has it otherwise; it may have more. */
function lacks(pinned: unknown, now: unknown, at: string): string[] {
  if (typeof pinned !== 'object' || pinned === null) return pinned === now ? [] : [at];
  if (typeof now !== 'object' || now === null) return [at];
  if (Array.isArray(pinned)) {
    const all: readonly unknown[] = Array.isArray(now) ? now : [];
    return pinned.flatMap((one, i) =>
      all.some((other) => lacks(one, other, at).length === 0) ? [] : [`${at}/${i}`],
    );
  }
  return Object.entries(pinned).flatMap(([name, value]) =>
    lacks(value, (now as Record<string, unknown>)[name], `${at}/${name}`),
  );
}

describe('the document', () => {
  it('says all that it said before', () => {
    const pinned: unknown = JSON.parse(gunzipSync(readFileSync(PINNED)).toString('utf8'));
    expect(lacks(pinned, document, '')).toEqual([]);
  });

  it('is valid', async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
  });

  it('describes every route and nothing else', () => {
    expect(operations.length).toBe(ROUTES.length);
  });

  it('states the level of each route', () => {
    for (const { method, path, level } of ROUTES) {
      const template = path.replace('...}', '}');
      expect(paths[template]?.[method.toLowerCase()]?.['x-level'], `${method} ${path}`).toBe(level);
    }
  });

  it('names every operation once', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z]+[A-Za-z0-9]+$/);
  });

  it('names no parameter of an operation twice', () => {
    for (const { path, method, operation } of operations) {
      const names = (operation.parameters ?? []).map((one) => `${one.in} ${one.name}`);
      expect(new Set(names).size, `${method} ${path}`).toBe(names.length);
    }
  });

  it('refers to what it has, and has nothing to spare', () => {
    const { schemas } = document.components as unknown as { schemas: Record<string, unknown> };
    const referred = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect([...new Set(referred)].sort()).toEqual(Object.keys(schemas).sort());
  });
});
