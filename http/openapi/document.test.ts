/**
 * Goal: `/openapi.json` is a valid OpenAPI 3.1 document, describes every route and nothing else,
 * and refers to nothing that it lacks. Method: the document itself, a validator that is not ours,
 * and the routes.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../server/routes.js';
import { openApiDocument } from './document.js';
import { OPERATIONS } from './operations.js';

interface OperationObject {
  readonly operationId: string;
  readonly 'x-level': string;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
}

const document = openApiDocument(ROUTES, OPERATIONS);
const text = JSON.stringify(document);
const paths = document.paths as unknown as Record<string, Record<string, OperationObject>>;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe('the document', () => {
  it('is valid', async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
  });

  it('describes every route and nothing else', () => {
    const routes = ROUTES.map(({ method, path }) => `${method} ${path}`);
    expect(Object.keys(OPERATIONS).sort()).toEqual([...routes].sort());
    expect(operations.length).toBe(routes.length);
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
