/** A loader hook of Node, for `next-version.ts` alone: one file is loaded as another text. */
import type { LoadFnOutput } from 'node:module';

export interface OtherText {
  /** The address of the file. */
  readonly url: string;
  readonly text: string;
}

type NextLoad = (url: string, context: unknown) => Promise<LoadFnOutput>;

let other: OtherText | undefined;

export function initialize(data: OtherText): void {
  other = data;
}

export async function load(url: string, context: unknown, next: NextLoad): Promise<LoadFnOutput> {
  const loaded = await next(url, context);
  return url === other?.url ? { ...loaded, source: other.text } : loaded;
}
