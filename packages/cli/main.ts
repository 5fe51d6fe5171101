/** `svcctl`: runs a command with the streams and the environment of this process. */
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { systemCredentials } from './base/credential-store.js';
import { EXIT } from './base/errors.js';
import type { Output, World } from './base/world.js';
import { run } from './program/program.js';

const interrupt = new AbortController();
/** A second one ends the process at once. */
process.once('SIGINT', () => {
  interrupt.abort(new Error('interrupted'));
  process.once('SIGINT', () => process.exit(EXIT.interrupted));
  // A command that reads its input goes on, with an error.
  process.stdin.destroy();
});
// `svcctl tail orders | head`: a reader that has enough is no fault.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit(EXIT.done);
  process.stderr.write(`svcctl: the output cannot be written: ${message}\n`);
  process.exit(EXIT.server);
});
// Messages that nobody reads change no exit code.
process.stderr.on('error', () => {});

const world: World = {
  env: process.env,
  homeFolder: homedir(),
  input: { isTerminal: process.stdin.isTTY === true, parts: standardInput },
  output: outputTo(process.stdout),
  errors: outputTo(process.stderr),
  credentials: systemCredentials(),
  signal: interrupt.signal,
  nowMs: () => Date.now(),
  ask,
  browse,
};

const code = await run(process.argv.slice(2), world);
// Connections that are kept alive would hold the process.
process.stdout.write('', () => process.exit(code));

function outputTo(stream: NodeJS.WriteStream): Output {
  return {
    isTerminal: stream.isTTY === true,
    write: (text) =>
      new Promise((resolve) => {
        // The callback comes also after an error, when there is no `drain`.
        if (text === '' || stream.write(text, () => resolve())) resolve();
      }),
  };
}

async function* standardInput(): AsyncGenerator<string> {
  process.stdin.setEncoding('utf8');
  for await (const part of process.stdin) yield part as string;
}

/** What is typed for a hidden answer is not echoed. */
async function ask(question: string, hidden = false): Promise<string> {
  let isMuted = false;
  const output = new Writable({
    write: (part, _, done) => {
      if (!isMuted) process.stderr.write(part as Buffer);
      done();
    },
  });
  const lines = createInterface({
    input: process.stdin,
    output,
    terminal: hidden && process.stdin.isTTY === true,
  });
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  // Ctrl-D: the promise of the question would not end.
  const end = new Promise<null>((resolve) => lines.once('close', () => resolve(null)));
  let said: string | null = null;
  try {
    const line = lines.question(question, { signal: interrupt.signal });
    isMuted = hidden;
    said = await Promise.race([end, line]);
  } finally {
    if (hidden || said === null) process.stderr.write('\n');
    lines.close();
  }
  return said ?? '';
}

function browse(url: string): Promise<boolean> {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  return new Promise((resolve) => {
    const child = spawn(program, [url], { stdio: 'ignore', detached: true });
    child.on('error', () => resolve(false));
    child.on('spawn', () => resolve(true));
    child.unref();
  });
}
