/**
 * A loader hook of Node: the files of a planted bug are changed while they are loaded. Nothing of
 * the program knows of it, and no setting of the program can reach it; it exists in processes that
 * register it, and only the hunts do. A text that does not occur exactly once is an error: the bug
 * would not be planted.
 */
import type { LoadFnOutput } from 'node:module';
import type { MessagePort } from 'node:worker_threads';
import type { Edit } from './bug.js';

export interface PatchData {
  /** By the address of the compiled file. */
  readonly edits: readonly (readonly [url: string, edits: readonly Edit[]])[];
  /** Is told the address of every file that was changed. */
  readonly port: MessagePort;
}

type NextLoad = (url: string, context: unknown) => Promise<LoadFnOutput>;

let editsByUrl: ReadonlyMap<string, readonly Edit[]> = new Map();
let port: MessagePort | undefined;

export function initialize(data: PatchData): void {
  editsByUrl = new Map(data.edits);
  port = data.port;
}

export async function load(url: string, context: unknown, next: NextLoad): Promise<LoadFnOutput> {
  const loaded = await next(url, context);
  const edits = editsByUrl.get(url);
  if (edits === undefined) return loaded;
  const source = edits.reduce(patched, `${textOf(loaded.source)}`);
  port?.postMessage(url);
  return { ...loaded, source };
}

function textOf(source: LoadFnOutput['source']): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source as Uint8Array);
}

/** Lines are compared without their indentation, which the compiler chooses. */
export function patched(text: string, { file, find, replace }: Edit): string {
  const pattern = find
    .split('\n')
    .map((line) => line.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('\\s*\\n\\s*');
  const found = [...text.matchAll(new RegExp(pattern, 'g'))];
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`${file}: the text occurs ${found.length} times:\n${find}`);
  }
  return text.slice(0, only.index) + replace + text.slice(only.index + only[0].length);
}
