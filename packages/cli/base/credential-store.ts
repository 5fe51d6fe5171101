/**
 * The credential store of the operating system, by its own program: `security` on macOS,
 * `secret-tool` (libsecret) elsewhere. Rejected: a native module, which would be a build for each
 * platform to do what these programs do. A token goes through their standard input and never into
 * their arguments, which every user of the machine can read.
 */
import { spawn } from 'node:child_process';

export interface CredentialStore {
  /** null: there is none under this id, or no store. */
  read(id: string): Promise<string | null>;
  /** false: there is no store. */
  write(id: string, token: string): Promise<boolean>;
  remove(id: string): Promise<void>;
}

const SERVICE = 'svcctl';

interface Ran {
  readonly ok: boolean;
  readonly output: string;
}

type RunProgram = (program: string, args: readonly string[], input?: string) => Promise<Ran>;

export function systemCredentials(
  platform: NodeJS.Platform = process.platform,
  run: RunProgram = runProgram,
): CredentialStore {
  return platform === 'darwin' ? keychain(run) : secretService(run);
}

function keychain(run: RunProgram): CredentialStore {
  const place = (id: string) => ['-s', SERVICE, '-a', id];
  return {
    read: async (id) => {
      const { ok, output } = await run('security', ['find-generic-password', ...place(id), '-w']);
      return ok ? output.trim() : null;
    },
    write: async (id, token) => {
      const words = ['add-generic-password', '-U', ...place(id), '-w', token].map(quoted);
      return (await run('security', ['-i'], `${words.join(' ')}\n`)).ok;
    },
    remove: async (id) => void (await run('security', ['delete-generic-password', ...place(id)])),
  };
}

function quoted(word: string): string {
  return `"${word.replace(/["\\]/g, '\\$&')}"`;
}

function secretService(run: RunProgram): CredentialStore {
  const place = (id: string) => ['service', SERVICE, 'account', id];
  return {
    read: async (id) => {
      const { ok, output } = await run('secret-tool', ['lookup', ...place(id)]);
      return ok && output !== '' ? output.trim() : null;
    },
    write: async (id, token) => {
      const args = ['store', `--label=${SERVICE} ${id}`, ...place(id)];
      return (await run('secret-tool', args, token)).ok;
    },
    remove: async (id) => void (await run('secret-tool', ['clear', ...place(id)])),
  };
}

/** A program that is not installed, or does not end within 10 s, did not do it. */
function runProgram(program: string, args: readonly string[], input = ''): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], timeout: 10_000 });
    let output = '';
    child.stdout.on('data', (part) => {
      output += part;
    });
    child.on('error', () => resolve({ ok: false, output: '' }));
    child.on('close', (code) => resolve({ ok: code === 0, output }));
    child.stdin.on('error', () => child.kill());
    child.stdin.end(input);
  });
}
