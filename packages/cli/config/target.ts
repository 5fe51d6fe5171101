/** Which server a command speaks to, and as whom. Later wins: context, environment, flag. */
import { UserError } from '../base/errors.js';
import type { World } from '../base/world.js';
import { type Config, type Context, contextOf } from './config-file.js';
import { isLiteral, tokenOf } from './tokens.js';

/** As the global flags say. */
export interface TargetFlags {
  readonly context?: string;
  readonly server?: string;
  readonly token?: string;
  readonly insecure?: boolean;
}

export interface Target {
  readonly server: string;
  readonly token: string | undefined;
  readonly insecure: boolean;
  /** The token stands in the configuration file as it is. */
  readonly isTokenInFile: boolean;
}

/** The name of the context in use; undefined: there is none. */
export function contextName(config: Config, world: World, flags: TargetFlags): string | undefined {
  return flags.context ?? (world.env.SVC_CONTEXT || config['current-context'] || undefined);
}

export async function targetOf(config: Config, world: World, flags: TargetFlags): Promise<Target> {
  // What flags say in full needs no context: it is about to be made when a user logs in.
  const isWhole = [flags.server, flags.token, flags.insecure].every((flag) => flag !== undefined);
  const name = isWhole ? undefined : contextName(config, world, flags);
  const context: Context = name === undefined ? { name: '' } : contextOf(config, name);
  const server = flags.server ?? (world.env.SVC_SERVER || context.server);
  if (!server) {
    throw new UserError(
      "no server configured: set --server, SVC_SERVER, or run 'svcctl config set-context'",
    );
  }
  checkServer(server);
  const { 'token-ref': ref = '' } = context;
  const typed = flags.token ?? (world.env.SVC_TOKEN || undefined);
  return {
    server,
    token: typed ?? (await tokenOf(ref, world)),
    insecure: flags.insecure ?? context.insecure ?? false,
    isTokenInFile: typed === undefined && isLiteral(ref),
  };
}

export function checkServer(server: string): void {
  const protocol = URL.canParse(server) ? new URL(server).protocol : '';
  if (protocol === 'http:' || protocol === 'https:') return;
  const meant = /^[\w.-]+(:\d+)?$/.test(server) ? `http://${server}` : 'http://127.0.0.1:6632';
  throw new UserError(`server ${JSON.stringify(server)} is no URL: write ${meant}`);
}
