/** The client as one minified file, as an application that serves browsers would have it. */
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const INDEX = fileURLToPath(new URL('../../../packages/client/dist/index.js', import.meta.url));

export interface ClientBundle {
  readonly code: string;
  /** What it imports, at once or later. */
  readonly imports: readonly string[];
}

/** `format`: a module, or a script that puts the exports into `svc`. */
export async function clientBundle(format: 'es' | 'iife'): Promise<ClientBundle> {
  const build = await rolldown({ input: INDEX, platform: 'browser', logLevel: 'silent' });
  const { output } = await build.generate({ format, name: 'svc', minify: true });
  await build.close();
  const [{ code, imports, dynamicImports }] = output;
  return { code, imports: [...imports, ...dynamicImports] };
}
