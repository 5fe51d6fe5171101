/** The client as one minified file, as an application that serves browsers would have it. */
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const INDEX = fileURLToPath(new URL('../../../packages/client/dist/index.js', import.meta.url));

export interface ClientBundle {
  readonly code: string;
  /** What it imports, at once or later. */
  readonly imports: readonly string[];
}

const ENTRY = 'program';

/**
 * `format`: a module, or a script that puts the exports into `svc`. `names`: what the application
 * imports; everything without.
 */
export async function clientBundle(format: 'es' | 'iife', names = '*'): Promise<ClientBundle> {
  const program = {
    name: ENTRY,
    resolveId: (id: string) => (id === ENTRY ? id : null),
    load: (id: string) => (id === ENTRY ? `export ${names} from ${JSON.stringify(INDEX)};` : null),
  };
  const build = await rolldown({
    input: ENTRY,
    platform: 'browser',
    plugins: [program],
    logLevel: 'silent',
  });
  const { output } = await build.generate({ format, name: 'svc', minify: true });
  await build.close();
  const [{ code, imports, dynamicImports }] = output;
  return { code, imports: [...imports, ...dynamicImports] };
}
