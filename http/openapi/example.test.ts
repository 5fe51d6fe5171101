// Goal: every operation has an example of its body and of its success, and each is what its schema
// says. Method: the document, and a validator that is not ours.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { ROUTES } from '../server/routes.js';
import { openApiDocument } from './document.js';

interface Media {
  readonly schema: object;
  readonly example?: unknown;
}

interface Content {
  readonly content?: { readonly 'application/json'?: Media };
}

interface Operation {
  readonly requestBody?: Content;
  readonly responses: { readonly [status: string]: Content };
}

const document = openApiDocument(ROUTES);
const paths = document.paths as unknown as Record<string, Record<string, Operation>>;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, one]) => [`${method} ${path}`, one] as const),
);
const ajv = new Ajv2020({ strict: false, formats: { uuid: true, 'date-time': true } });

function expectValid(media: Media): void {
  const validate = ajv.compile({ ...media.schema, components: document.components });
  validate(media.example);
  expect(validate.errors, JSON.stringify(media.example)).toBeNull();
}

test.each(operations)('%s', (_, { requestBody, responses }) => {
  const asked = requestBody?.content?.['application/json'];
  if (asked !== undefined) {
    expect(asked).toHaveProperty('example');
    expectValid(asked);
  }
  const [success] = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const answered = success?.[1].content?.['application/json'];
  if (answered === undefined) return;
  expect(answered).toHaveProperty('example');
  expectValid(answered);
});
