/**
 * The shapes of the answers that the dashboard reads (`dashboard/base/answer-check.ts`), taken from
 * the records of the endpoints that its calls name. Only what is checked is kept: 7 kB compressed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup.mjs';

const CALL = /["'`]((?:GET|POST|PUT|DELETE) \/[^"'`\s]*)["'`]/g;
const REFERENCE = '#/components/schemas/';

export async function answerSchemas() {
  const endpoints = await import(join(root, 'http/dist/endpoints/index.js'));
  const known = new Map(Object.values(endpoints).map((record) => [record.at, record]));
  const [answers, named] = [{}, {}];
  for (const at of [...callsOf('data'), ...callsOf('pages'), ...callsOf('shell')].sort()) {
    const record = known.get(at);
    if (record === undefined) throw new Error(`the dashboard calls ${at}, which no node serves`);
    const { schema } = record.answers[200] ?? record.answers[201];
    answers[at] = shapeOf(schema.json);
    for (const [name, json] of schema.uses) named[name] = shapeOf(json);
  }
  return { answers, named };
}

function callsOf(room) {
  const folder = join(root, 'dashboard/dist', room);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .flatMap((name) => [...readFileSync(join(folder, name), 'utf8').matchAll(CALL)])
    .map(([, at]) => at);
}

function shapeOf(json) {
  const { type, required, properties, items, anyOf, additionalProperties, $ref } = json;
  const isMap = typeof additionalProperties === 'object';
  return {
    ...(type !== undefined && { type }),
    ...(required !== undefined && { required }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, shapeOf(one)]),
      ),
    }),
    ...(items !== undefined && { items: shapeOf(items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(shapeOf) }),
    ...(isMap && { additionalProperties: shapeOf(additionalProperties) }),
    ...($ref !== undefined && { $ref: $ref.replace(REFERENCE, '') }),
  };
}
