/**
 * The configuration file: contexts, and which of them is used.
 *
 * What must hold: a reader sees the file before a change or after it, never a part of one, and
 * nobody but the user reads a token. The file is written beside its place with mode 0600, then
 * renamed; its folder has mode 0700. What the file says beyond what is known here stays in it.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parseDocument, stringify, type YAMLError } from 'yaml';
import { UserError } from '../base/errors.js';
import type { World } from '../base/world.js';

export interface Context {
  readonly name: string;
  readonly server?: string;
  readonly 'token-ref'?: string;
  readonly insecure?: boolean;
}

export interface Config {
  readonly 'current-context'?: string;
  readonly contexts: readonly Context[];
}

export function configPath(world: World, flag: string | undefined): string {
  return flag ?? (world.env.SVC_CONFIG || join(world.homeFolder, '.svc', 'config.yaml'));
}

/** A file that is not there is an empty one. */
export function readConfig(path: string): Config {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { contexts: [] };
    throw new UserError(`cannot read ${path}: ${(error as Error).message}`);
  }
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault !== undefined) throw new UserError(`${path}: ${yamlFault(fault)}`);
  return checked(document.toJS() ?? {}, path);
}

/** The fault and its place, without the excerpt of the file that comes after. */
export function yamlFault({ message }: YAMLError): string {
  return message.split('\n', 1)[0]?.replace(/:$/, '') ?? message;
}

/** Whether users other than its owner can read the file. */
export function isOpenToOthers(path: string): boolean {
  return existsSync(path) && (statSync(path).mode & 0o077) !== 0;
}

function checked(value: unknown, path: string): Config {
  const { contexts = [], ...rest } = objectOf(value, path, 'the file');
  if (!Array.isArray(contexts)) throw new UserError(`${path}: contexts is no list`);
  contexts.forEach((context: unknown, i) => {
    const members = objectOf(context, path, `contexts[${i}]`);
    if (typeof members.name !== 'string' || members.name === '') {
      throw new UserError(`${path}: contexts[${i}] has no name`);
    }
    for (const name of ['server', 'token-ref']) textOrNothing(members[name], path, name);
    if (!['boolean', 'undefined'].includes(typeof members.insecure)) {
      throw new UserError(`${path}: insecure of ${members.name} is neither true nor false`);
    }
  });
  textOrNothing(rest['current-context'], path, 'current-context');
  return { ...rest, contexts } as Config;
}

function textOrNothing(value: unknown, path: string, name: string): void {
  if (value === undefined || value === null || typeof value === 'string') return;
  throw new UserError(`${path}: ${name} is no text`);
}

function objectOf(value: unknown, path: string, name: string): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) throw new UserError(`${path}: ${name} is no mapping`);
  return value as Record<string, unknown>;
}

export function writeConfig(at: string, config: Config): void {
  mkdirSync(dirname(at), { recursive: true, mode: 0o700 });
  // A link stays one, and what it leads to is written.
  const path = existsSync(at) ? realpathSync(at) : at;
  const beside = `${path}.tmp`;
  // One that an interrupted write left has a mode that is kept.
  rmSync(beside, { force: true });
  writeFileSync(beside, stringify(config), { mode: 0o600 });
  chmodSync(beside, 0o600);
  renameSync(beside, path);
}

export function contextOf(config: Config, name: string): Context {
  const found = config.contexts.find((context) => context.name === name);
  if (found !== undefined) return found;
  const names = config.contexts.map((context) => context.name).join(', ') || 'there are none';
  throw new UserError(`no context ${JSON.stringify(name)} (contexts: ${names})`);
}

/** The context with that name takes its place, or the last one when there is none. */
export function withContext(config: Config, context: Context): Config {
  const at = config.contexts.findIndex(({ name }) => name === context.name);
  if (at === -1) return { ...config, contexts: [...config.contexts, context] };
  return { ...config, contexts: config.contexts.with(at, context) };
}
