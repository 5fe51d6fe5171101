/**
 * The options of a declared ephemeral queue, from the text that clients sent.
 */
import type { DeclaredTerms } from '@svc/ephemeral';

/** The front has checked the text: an object of known options with values of their kinds. */
export function declaredTerms(options: string | undefined): DeclaredTerms | null {
  if (options === undefined) return null;
  const given = JSON.parse(options) as { readonly [name: string]: unknown };
  const terms: { [name: string]: unknown } = {};
  // A member that is null was not stated.
  for (const [name, value] of Object.entries(given)) if (value !== null) terms[name] = value;
  return terms;
}
