/**
 * The program of a node as one file, `packages/broker/dist/bundle/node.js`, joined from the built
 * output: Node takes a second of processor time to find, read and link its several hundred modules.
 *
 * What must hold:
 * - Files are joined and nothing else: no code is left out, no constant is put in place, so that
 *   what tests of a single module ran is what a node runs.
 * - Stack traces name the sources: the map of the bundle leads through those of the compiler.
 * - The bundle lies as deep below the checkout as the files it replaces, for their paths start from
 *   `import.meta.url`. Native packages, and those that a worker thread loads by path, stay outside.
 * - The gateway stays outside: a node that runs none never loads it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { bundleDashboard } from './bundle-dashboard.mjs';
import { root } from './setup.mjs';

const compilerMaps = {
  name: 'compiler-maps',
  load(id) {
    if (!existsSync(`${id}.map`)) return null;
    return { code: readFileSync(id, 'utf8'), map: readFileSync(`${id}.map`, 'utf8') };
  },
};

const broker = join(root, 'packages/broker/dist');
await build({
  input: { node: join(broker, 'node/program.js') },
  platform: 'node',
  external: ['lmdb', '@svc/gateway'],
  plugins: [compilerMaps],
  treeshake: false,
  optimization: { inlineConst: false },
  logLevel: 'warn',
  output: {
    dir: join(broker, 'bundle'),
    codeSplitting: false,
    sourcemap: true,
    sourcemapExcludeSources: true,
  },
});

await bundleDashboard();

// Last: it says that the build is whole.
const { builtDigest, MADE_OF } = await import(join(broker, 'bundle-digest.js'));
writeFileSync(MADE_OF, builtDigest());
