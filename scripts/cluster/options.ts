/** The command line of `npm run cluster`. */

export interface Options {
  readonly directory: string;
  readonly fresh: boolean;
  /** null: 6632, or a free one when that is taken. */
  readonly port: number | null;
  /** The nodes listen at this port and those after it; null: free ones. */
  readonly nodePort: number | null;
  /** The same for what nodes say to each other. */
  readonly raftPort: number | null;
  readonly balancer: boolean;
  /** A second cluster follows the first. */
  readonly standby: boolean;
}

export type Parsed =
  | { readonly kind: 'run'; readonly options: Options }
  | { readonly kind: 'help' }
  | { readonly kind: 'refused'; readonly error: string };

export const HELP = `npm run cluster -- [options]

Three nodes and a load balancer on this machine, until Ctrl-C. Any node takes any request; the
data stays, and the next run goes on with it.

  --port N       the balancer's port (6632; a free one if that is taken)
  --dir PATH     where the data is (./data/cluster)
  --fresh        forget the data of former runs
  --node-port N  HTTP ports of the nodes: N, N+1, ... (free ones)
  --raft-port N  ports between the nodes: N, N+1, ... (free ones)
  --no-balancer  nodes only
  --standby      and three nodes more, which follow the first three and can take over
  --help         this

Ports are chosen once and kept with the data: the addresses of nodes are part of the cluster.
The balancer is HAProxy, if it is installed: apt-get install haproxy. A node's settings are taken
from the environment (docs/configuration.md); its log is PATH/node-N.log.

A standby takes writes once it is promoted: on the page /system of one of its nodes,
or by POST /api/v1/system/link/promote there.
Its data is in PATH/standby, its ports are the three after those of the first nodes.

A node that dies is not started again. With the terminal lost, or this program killed, the nodes
are stopped.
`;

const PORT_MAX = 65_535;

/** `defaultDirectory` is where data goes that no option places. */
export function readOptions(args: readonly string[], defaultDirectory: string): Parsed {
  const values = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const [name = '', attached] = splitOnce(args[at] ?? '');
    if (name === '--help' || name === '-h') return { kind: 'help' };
    if (SWITCHES.has(name) && attached === null) {
      values.set(name, '');
      continue;
    }
    const value = attached ?? args[++at];
    if (!VALUED.has(name) || value === undefined) {
      const what = VALUED.has(name) ? `${name} needs a value` : `there is no option ${name}`;
      return { kind: 'refused', error: `${what}; --help lists them` };
    }
    values.set(name, value);
  }
  return checked(values, defaultDirectory);
}

const SWITCHES = new Set(['--fresh', '--no-balancer', '--standby']);
const VALUED = new Set(['--port', '--dir', '--node-port', '--raft-port']);

function splitOnce(argument: string): [string, string | null] {
  const at = argument.indexOf('=');
  return at === -1 ? [argument, null] : [argument.slice(0, at), argument.slice(at + 1)];
}

function checked(values: ReadonlyMap<string, string>, defaultDirectory: string): Parsed {
  const numbers = new Map<string, number | null>();
  for (const name of ['--port', '--node-port', '--raft-port']) {
    const text = values.get(name);
    const number = text === undefined ? null : Number(text);
    if (number !== null && !(Number.isInteger(number) && number >= 1 && number <= PORT_MAX)) {
      return { kind: 'refused', error: `${name} is a number from 1 to ${PORT_MAX}, not ${text}` };
    }
    numbers.set(name, number);
  }
  return {
    kind: 'run',
    options: {
      directory: values.get('--dir') ?? defaultDirectory,
      fresh: values.has('--fresh'),
      port: numbers.get('--port') ?? null,
      nodePort: numbers.get('--node-port') ?? null,
      raftPort: numbers.get('--raft-port') ?? null,
      balancer: !values.has('--no-balancer'),
      standby: values.has('--standby'),
    },
  };
}
