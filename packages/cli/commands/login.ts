/** `login` and `logout`: a credential for a context, kept by reference. */
import { adminCall, type Fetch } from '@svc/client';
import { DeniedError, RefusedError, UserError } from '../base/errors.js';
import type { Command } from '../command/command.js';
import { insecureFetch } from '../command/insecure-fetch.js';
import { Run } from '../command/run.js';
import { type Context, withContext, writeConfig } from '../config/config-file.js';
import { contextName } from '../config/target.js';
import { forgetToken } from '../config/tokens.js';
import { storedRef } from './contexts.js';

const METHODS = ['token', 'password', 'google', 'github'];
const DEFAULT_CONTEXT = 'default';

export const loginCommands: readonly Command[] = [
  {
    name: 'login',
    help: 'Get a credential, verify it with one call and store it for the context.',
    flags: [
      ['--method <method>', 'token, password, google or github', 'token'],
      ['-u, --user <name>', 'user of the method password'],
      ['--password <password>', 'asked for when absent'],
      ['--no-browser', 'show the address of the page instead of opening it'],
      ['--no-keychain', 'keep the token in the file and not in the credential store'],
    ],
    example: 'login --context prod --server https://broker.example --token eyJhbGciOi',
    run: login,
  },
  {
    name: 'logout',
    help: 'Remove the stored credential of the context.',
    example: 'logout --context prod',
    run: async (run) => {
      const config = run.config();
      const name = contextName(config, run.world, run.flags);
      const context = config.contexts.find((one) => one.name === name);
      if (context === undefined) throw new UserError('there is no context to log out of');
      const { 'token-ref': ref = '', ...rest } = context;
      await forgetToken(run.world, ref);
      writeConfig(run.configPath, withContext(config, rest));
      return { kind: 'said', text: `logged out of "${name}"`, value: { context: name } };
    },
  },
];

async function login(run: Run) {
  const method = run.given.required('method');
  if (!METHODS.includes(method)) {
    throw new UserError(`--method ${method}: write one of ${METHODS.join(', ')}`);
  }
  const config = run.config();
  const name = run.flags.context ?? contextName(config, run.world, run.flags) ?? DEFAULT_CONTEXT;
  const before = config.contexts.find((one) => one.name === name);
  const server = run.flags.server ?? (run.world.env.SVC_SERVER || before?.server);
  if (!server) throw new UserError('login needs --server, SVC_SERVER or a context with one');
  const insecure = run.flags.insecure ?? before?.insecure ?? false;
  const token = await tokenBy(method, run, { server: server.replace(/\/+$/, ''), insecure });
  if (token === '') throw new UserError('there is no token');
  await verify(run, { server, token, insecure });
  const ref = await storedRef(run, name, token);
  const context: Context = { ...before, name, server, 'token-ref': ref, insecure };
  const current = config['current-context'] ?? name;
  writeConfig(run.configPath, { ...withContext(config, context), 'current-context': current });
  return {
    kind: 'said',
    text: `logged in to "${name}" (${server})`,
    value: { context: name },
  } as const;
}

interface Gateway {
  readonly server: string;
  readonly insecure: boolean;
}

async function tokenBy(method: string, run: Run, gateway: Gateway): Promise<string> {
  const { server } = gateway;
  if (method === 'password') return passwordToken(run, gateway);
  if (method === 'token') {
    return (run.flags.token ?? (await run.world.ask('Token: ', true))).trim();
  }
  const page = `${server}/auth/${method}?next=/auth/session-token`;
  const isShown = run.given.is('browser') && (await run.world.browse(page));
  if (!isShown) await run.world.errors.write(`Open ${page}\n`);
  return (await run.world.ask('Paste the token that the page shows: ', true)).trim();
}

/** The gateway takes a form and answers with a cookie, which the transport has no part in. */
async function passwordToken(run: Run, { server, insecure }: Gateway): Promise<string> {
  const username = run.given.text('user') ?? (await run.world.ask('User: '));
  const password = run.given.text('password') ?? (await run.world.ask('Password: ', true));
  const send = insecure && server.startsWith('https:') ? insecureFetch : fetchHere;
  const address = `${server}/auth/login`;
  const sent = send(address, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    signal: AbortSignal.any([run.world.signal, AbortSignal.timeout(30_000)]),
    body: String(new URLSearchParams({ username, password })),
  });
  const response = await sent.catch((error: Error) => {
    const { message } = error.cause instanceof Error ? error.cause : error;
    throw new RefusedError(`POST ${address}: ${message}`);
  });
  await response.text();
  const cookie = response.headers.get('set-cookie');
  const token = cookie?.split(';')[0]?.split('=').slice(1).join('=') ?? '';
  if (token !== '') return token;
  throw new DeniedError(`login failed: ${address} answered ${response.status}`);
}

const fetchHere: Fetch = (url, request) => fetch(url, { ...request, redirect: 'manual' });

async function verify(
  run: Run,
  { server, token, insecure }: Gateway & { readonly token: string },
): Promise<void> {
  const asUser = new Run(run.given, run.world, { ...run.flags, server, token, insecure });
  await asUser.call(adminCall('identity'));
}
