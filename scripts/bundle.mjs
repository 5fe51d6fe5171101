/**
 * The program of a node as one file, `packages/broker/dist/bundle/node.js`, joined from the built
 * output: Node takes a second of processor time to find, read and link its several hundred modules.
 * The gateway is a file of its own, because a node that runs none never loads it, and what both
 * need is a third.
 *
 * What must hold:
 * - Files are joined and nothing else: no code is left out, no constant is put in place, so that
 *   what tests of a single module ran is what a node runs.
 * - Stack traces name the sources: the map of the bundle leads through those of the compiler.
 * - The bundle lies as deep below the checkout as the files it replaces, for their paths start from
 *   `import.meta.url`. Native packages, and those that a worker thread loads by path, stay outside.
 * - Each module is in one file alone. What the gateway shares with the broker is the broker's: a
 *   second copy of the front would have classes of its own, and code that is given objects of both
 *   is compiled for neither: a push through the gateway cost an eighth more.
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
  external: ['lmdb', '@node-rs/bcrypt'],
  plugins: [compilerMaps],
  treeshake: false,
  optimization: { inlineConst: false },
  logLevel: 'warn',
  output: {
    dir: join(broker, 'bundle'),
    chunkFileNames: ({ isDynamicEntry }) => (isDynamicEntry ? 'gateway.js' : '[name].js'),
    codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] },
    sourcemap: true,
    sourcemapExcludeSources: true,
  },
});

await bundleDashboard();

// Last: it says that the build is whole.
const { builtDigest, MADE_OF } = await import(join(broker, 'bundle-digest.js'));
writeFileSync(MADE_OF, builtDigest());
