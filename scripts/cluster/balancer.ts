/** The load balancer in front of the nodes: HAProxy with the configuration of deploy/. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HOST, type Plan } from './plan.js';

/** From scripts/dist/cluster. */
const CONFIGURATION = fileURLToPath(
  new URL('../../../deploy/haproxy/haproxy.cfg', import.meta.url),
);

export interface BalancerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

/** null: HAProxy is not installed. */
export function balancerCommand(plan: Plan, port: number): BalancerCommand | null {
  const command = findProgram('haproxy');
  if (command === null) return null;
  const environment: NodeJS.ProcessEnv = { ...process.env, SVC_LB_BIND: `${HOST}:${port}` };
  for (const { id, httpPort } of plan.nodes) {
    environment[`SVC_LB_NODE_${id}`] = `${HOST}:${httpPort}`;
  }
  return { command, args: ['-db', '-f', CONFIGURATION], environment };
}

/** Debian keeps daemons where the path of ordinary users does not lead. */
function findProgram(name: string): string | null {
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return places.map((place) => join(place, name)).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us: either way it cannot be run.
    return false;
  }
}
