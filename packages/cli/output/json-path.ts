/** `jsonpath=`: `.field`, `['field']`, `[n]`, `[*]` and chains of them, in braces or without. */
import { UserError } from '../base/errors.js';

type Step = { readonly member: string } | { readonly index: number } | 'all';

const STEP =
  /^(?:\.?\[(?<index>-?\d+)\]|\.?\[(?<all>\*)\]|\.?\['(?<quoted>[^']*)'\]|\.(?<name>[^.[\]]+))/;

export function stepsOf(expression: string): readonly Step[] {
  let rest = expression
    .trim()
    .replace(/^\{(.*)\}$/, '$1')
    .replace(/^\$/, '');
  if (/^[^.[]/.test(rest)) rest = `.${rest}`;
  const steps: Step[] = [];
  while (rest !== '' && rest !== '.') {
    const match = STEP.exec(rest);
    if (match === null) {
      throw new UserError(
        `jsonpath ${JSON.stringify(expression)} is not understood at ${JSON.stringify(rest)}: ` +
          'write .field, [0], [*] or a chain of them, such as .queues[*].name',
      );
    }
    const { index, all, quoted, name } = match.groups ?? {};
    if (index !== undefined) steps.push({ index: Number(index) });
    else if (all !== undefined || name === '*') steps.push('all');
    else steps.push({ member: quoted ?? name ?? '' });
    rest = rest.slice(match[0].length);
  }
  return steps;
}

/** Every value that the path leads to; none where it leads nowhere. */
export function valuesAt(value: unknown, steps: readonly Step[]): readonly unknown[] {
  return steps.reduce<readonly unknown[]>(
    (values, step) => {
      return values.flatMap((one) => next(one, step));
    },
    [value],
  );
}

function next(value: unknown, step: Step): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (step === 'all') return Object.values(value);
  if ('member' in step) {
    return Object.hasOwn(value, step.member)
      ? [(value as Readonly<Record<string, unknown>>)[step.member]]
      : [];
  }
  const found = Array.isArray(value) ? value.at(step.index) : undefined;
  return found === undefined ? [] : [found];
}
