// Runs a program to its end within a time limit and returns what it printed.

import { spawn } from 'node:child_process';
import type { Scratch } from '../scratch.js';

export function runProgram(
  program: string,
  programArguments: readonly string[],
  timeoutMs: number,
  scratch: Scratch,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, programArguments, { stdio: ['ignore', 'pipe', 'pipe'] });
    scratch.adopt(child);
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const output = Buffer.concat(chunks).toString();
      if (code === 0) {
        resolve(output);
      } else {
        reject(new Error(`${program} ended with ${code ?? signal}:\n${output.slice(-2000)}`));
      }
    });
  });
}
