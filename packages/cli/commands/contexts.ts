/** `config`: the contexts of the configuration file. */
import { UserError } from '../base/errors.js';
import type { Command } from '../command/command.js';
import type { Run } from '../command/run.js';
import { type Context, contextOf, withContext, writeConfig } from '../config/config-file.js';
import { checkServer, contextName } from '../config/target.js';
import { checkRef, forgetToken, shownRef, storeToken } from '../config/tokens.js';

const shownContext = ({ 'token-ref': ref = '', ...context }: Context) => ({
  ...context,
  'token-ref': shownRef(ref),
});

/** What authorizes the calls of a context: the form of its reference. */
function authOf({ 'token-ref': ref = '' }: Context): string {
  return ref === '' ? 'none' : (/^\w+/.exec(ref)?.[0] ?? ref);
}

export const contextCommands: readonly Command[] = [
  {
    name: 'config view',
    help: 'Show the configuration file, without its tokens.',
    example: 'config view',
    run: async (run) => {
      const config = run.config();
      const value = { ...config, contexts: config.contexts.map(shownContext) };
      return { kind: 'shown', value, instead: 'yaml' };
    },
  },
  {
    name: 'config current-context',
    help: 'Show the name of the context in use.',
    example: 'config current-context',
    run: async (run) => {
      const name = contextName(run.config(), run.world, run.flags);
      if (name === undefined) throw new UserError('there is no current context');
      return { kind: 'said', text: name, value: name, isResult: true };
    },
  },
  {
    name: 'config get-contexts',
    help: 'List the contexts.',
    example: 'config get-contexts -o wide',
    run: async (run) => {
      const config = run.config();
      const current = contextName(config, run.world, run.flags);
      const rows = config.contexts.map((context) => ({
        current: context.name === current ? '*' : '',
        name: context.name,
        server: context.server ?? '',
        auth: authOf(context),
        insecure: context.insecure ?? false,
      }));
      const columns = 'CURRENT=current NAME=name SERVER=server AUTH=auth | INSECURE=insecure';
      return { kind: 'shown', value: rows, rows, columns };
    },
  },
  {
    name: 'config use-context',
    args: '<context>',
    help: 'Use a context from now on.',
    example: 'config use-context prod',
    run: async (run) => {
      const config = run.config();
      const { name } = contextOf(config, run.given.arg(0));
      writeConfig(run.configPath, { ...config, 'current-context': name });
      return { kind: 'said', text: `switched to context "${name}"`, value: { context: name } };
    },
  },
  {
    name: 'config delete-context',
    args: '<context>',
    help: 'Remove a context and its stored credential.',
    example: 'config delete-context prod',
    run: async (run) => {
      const config = run.config();
      const context = contextOf(config, run.given.arg(0));
      const { name } = context;
      await forgetToken(run.world, context['token-ref'] ?? '');
      const { 'current-context': current, ...rest } = config;
      const contexts = config.contexts.filter((one) => one.name !== name);
      const kept = current === undefined || current === name ? {} : { 'current-context': current };
      writeConfig(run.configPath, { ...rest, ...kept, contexts });
      return { kind: 'said', text: `deleted context "${name}"`, value: { context: name } };
    },
  },
  {
    name: 'config set-context',
    args: '<context>',
    help: 'Make or change a context: --server, --token, --insecure. The first is used at once.',
    flags: [
      [
        '--token-ref <ref>',
        'where the token is: env, keychain://<id>, file:///<path>, literal:<t>',
      ],
      ['--no-keychain', 'keep --token in the file and not in the credential store'],
    ],
    example: 'config set-context local --server http://127.0.0.1:6632',
    run: setContext,
  },
];

async function setContext(run: Run) {
  const config = run.config();
  const name = run.given.arg(0);
  const { server, token, insecure } = run.flags;
  const ref = run.given.text('token-ref');
  if (token !== undefined && ref !== undefined) {
    throw new UserError('--token and --token-ref exclude each other');
  }
  if (server !== undefined) checkServer(server);
  if (ref !== undefined) checkRef(ref);
  const before = config.contexts.find((context) => context.name === name) ?? { name };
  const stored = token === undefined ? ref : await storedRef(run, name, token);
  const context: Context = {
    ...before,
    ...(server === undefined ? {} : { server }),
    ...(stored === undefined ? {} : { 'token-ref': stored }),
    ...(insecure === undefined ? {} : { insecure }),
  };
  const current = config['current-context'] ?? name;
  writeConfig(run.configPath, { ...withContext(config, context), 'current-context': current });
  return {
    kind: 'said',
    text: `set context "${name}"`,
    value: shownContext(context),
  } as const;
}

/** Stores a token; the reference that is to be written for it. */
export async function storedRef(run: Run, context: string, token: string): Promise<string> {
  const useStore = !run.given.isTyped('keychain');
  const { ref, isLiteral } = await storeToken(run.world, context, token, useStore);
  if (isLiteral && useStore) {
    await run.note(`warning: no credential store: the token is kept in ${run.configPath}`);
  }
  return ref;
}
