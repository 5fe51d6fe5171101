/** Where the credential of a context is kept, by the forms of `token-ref`. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { UserError } from '../base/errors.js';
import type { World } from '../base/world.js';

const KEYCHAIN = 'keychain://';
const FILE = 'file://';
const LITERAL = 'literal:';
const FORMS = 'write env, keychain://<id>, file:///<path> or literal:<token>';

/** undefined: calls go without one. */
export async function tokenOf(ref: string, world: World): Promise<string | undefined> {
  if (ref === '') return undefined;
  if (ref === 'env') return world.env.SVC_TOKEN || undefined;
  if (ref.startsWith(LITERAL)) return ref.slice(LITERAL.length);
  if (ref.startsWith(FILE)) return fileToken(ref);
  if (!ref.startsWith(KEYCHAIN)) throw new UserError(`token-ref ${JSON.stringify(ref)}: ${FORMS}`);
  const token = await world.credentials.read(ref.slice(KEYCHAIN.length));
  if (token !== null) return token;
  throw new UserError(`the credential store has nothing under ${ref}: run 'svcctl login'`);
}

function fileToken(ref: string): string {
  try {
    return readFileSync(fileURLToPath(ref), 'utf8').trim();
  } catch (error) {
    throw new UserError(`token-ref ${ref}: ${(error as Error).message}`);
  }
}

export function isLiteral(ref: string): boolean {
  return ref.startsWith(LITERAL);
}

/** Refuses what is no form of a reference. */
export function checkRef(ref: string): void {
  const isForm = ref === '' || ref === 'env' || [KEYCHAIN, FILE, LITERAL].some(startsRef(ref));
  if (!isForm) throw new UserError(`--token-ref ${JSON.stringify(ref)}: ${FORMS}`);
}

function startsRef(ref: string): (form: string) => boolean {
  return (form) => ref.startsWith(form);
}

export interface Stored {
  readonly ref: string;
  /** The token stands in the configuration file, since there is no credential store. */
  readonly isLiteral: boolean;
}

export async function storeToken(
  world: World,
  context: string,
  token: string,
  useStore: boolean,
): Promise<Stored> {
  const kept = useStore && (await world.credentials.write(context, token));
  return kept
    ? { ref: KEYCHAIN + context, isLiteral: false }
    : { ref: LITERAL + token, isLiteral: true };
}

/** What the reference names is removed where svcctl has stored it; a file of others stays. */
export async function forgetToken(world: World, ref: string): Promise<void> {
  if (ref.startsWith(KEYCHAIN)) await world.credentials.remove(ref.slice(KEYCHAIN.length));
}

/** The form of a reference, without what is secret of it. */
export function shownRef(ref: string): string {
  return isLiteral(ref) ? `${LITERAL}***` : ref;
}
