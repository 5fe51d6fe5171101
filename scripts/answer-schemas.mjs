/**
 * The shapes of the answers that the dashboard reads (`dashboard/base/answer-check.ts`), taken from
 * the records of the endpoints that its calls name, those of the gateway among them. Only what is
 * checked is kept: 8 kB compressed. What a node and a gateway serve has the shape of either.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup.mjs';

const CALL = /["'`]((?:GET|POST|PUT|PATCH|DELETE) \/[^"'`\s]*)["'`]/g;
const REFERENCE = '#/components/schemas/';

export async function answerSchemas() {
  const endpoints = await import(join(root, 'http/dist/endpoints/index.js'));
  const records = [...Object.values(endpoints), ...(await gatewayShapes())];
  const [answers, named] = [{}, {}];
  for (const at of [...callsOf('data'), ...callsOf('pages'), ...callsOf('shell')].sort()) {
    const schemas = records
      .filter((record) => record.at === at)
      .map((record) => (record.answers[200] ?? record.answers[201]).schema);
    const shapes = schemas.map(({ json }) => shapeOf(json));
    if (shapes.length === 0) throw new Error(`the dashboard calls ${at}, which no node serves`);
    answers[at] = shapes.length === 1 ? shapes[0] : { anyOf: shapes };
    for (const [name, json] of schemas.flatMap(({ uses }) => [...uses])) {
      named[name] = shapeOf(json);
    }
  }
  return { answers, named };
}

/** Every export of these modules is the shape of a route. */
async function gatewayShapes() {
  const modules = ['people-shapes.js', 'session-shapes.js'].map((name) => {
    return import(join(root, 'packages/gateway/dist/routes', name));
  });
  return (await Promise.all(modules)).flatMap((shapes) => Object.values(shapes));
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
