/** A world that keeps what is printed, with a home folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CredentialStore } from './credential-store.js';
import type { World } from './world.js';

export interface FakeOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What standard input holds. */
  readonly input?: string | readonly string[];
  /** Whether output, errors and input are terminals. */
  readonly terminal?: boolean;
  /** To questions, in their order. */
  readonly answers?: readonly string[];
  readonly credentials?: CredentialStore;
  readonly homeFolder?: string;
  readonly signal?: AbortSignal;
  readonly nowMs?: () => number;
}

export class FakeWorld implements World {
  out = '';
  err = '';
  readonly asked: string[] = [];
  readonly browsed: string[] = [];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeFolder: string;
  readonly input: World['input'];
  readonly output: World['output'];
  readonly errors: World['errors'];
  readonly credentials: CredentialStore;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly #answers: string[];

  constructor(options: FakeOptions = {}) {
    const { terminal: isTerminal = false, input = '' } = options;
    this.env = options.env ?? {};
    this.homeFolder = options.homeFolder ?? '/nonexistent';
    this.#answers = [...(options.answers ?? [])];
    this.credentials = options.credentials ?? noCredentials;
    this.signal = options.signal ?? new AbortController().signal;
    this.nowMs = options.nowMs ?? (() => Date.parse('2026-11-26T12:00:00Z'));
    const parts = typeof input === 'string' ? [input] : input;
    this.input = {
      isTerminal,
      parts: async function* () {
        yield* parts;
      },
    };
    this.output = {
      isTerminal,
      write: async (text) => {
        this.out += text;
      },
    };
    this.errors = {
      isTerminal,
      write: async (text) => {
        this.err += text;
      },
    };
  }

  async ask(question: string): Promise<string> {
    this.asked.push(question);
    return this.#answers.shift() ?? '';
  }

  async browse(url: string): Promise<boolean> {
    this.browsed.push(url);
    return true;
  }
}

/** As on a machine without a store. */
export const noCredentials: CredentialStore = {
  read: async () => null,
  write: async () => false,
  remove: async () => undefined,
};

export function memoryCredentials(): CredentialStore & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    read: async (id) => kept.get(id) ?? null,
    write: async (id, token) => {
      kept.set(id, token);
      return true;
    },
    remove: async (id) => void kept.delete(id),
  };
}

export function temporaryHome(): { readonly path: string; readonly remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'svcctl-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
