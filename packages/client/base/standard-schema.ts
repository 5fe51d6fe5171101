/** The shape that validators share (https://standardschema.dev), as far as the client uses it. */

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What the schema makes of `value`; rejects with a `TypeError` that names what is wrong. */
export async function validated<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
  name: string,
): Promise<Output> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return result.value;
  throw new TypeError(result.issues.map((issue) => issueText(issue, name)).join('; '));
}

function issueText({ message, path = [] }: Issue, name: string): string {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part));
  return `${[name, ...keys.map(String)].join('.')}: ${message}`;
}
