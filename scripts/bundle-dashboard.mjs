/**
 * The dashboard as a node serves it, `dashboard/dist/site/`: one script, one style sheet, the icon
 * and the page. Names of files carry a digest of their content, so that browsers keep them for
 * ever; each is there compressed too, by brotli and gzip at their best: no request pays for it.
 *
 * One script: all pages together are smaller than the libraries under them, and a page that is
 * opened later needs no further request.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { answerSchemas } from './answer-schemas.mjs';
import { root } from './setup.mjs';

const FOLDER = join(root, 'dashboard');
const SITE = join(FOLDER, 'dist/site');
/** Later rules stand over earlier ones. */
const STYLED_ROOMS = ['base', 'components', 'shell', 'pages'];

export async function bundleDashboard() {
  rmSync(SITE, { recursive: true, force: true });
  mkdirSync(join(SITE, 'assets'), { recursive: true });
  const files = {
    'app.js': await script(),
    'app.css': styles(),
    'favicon.svg': readFileSync(join(FOLDER, 'favicon.svg')),
  };
  let page = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  for (const [name, content] of Object.entries(files)) {
    page = page.replace(`"${name}"`, `"${writeAsset(name, Buffer.from(content))}"`);
  }
  writeFileSync(join(SITE, 'index.html'), page);
}

async function script() {
  const bundle = await rolldown({
    input: join(FOLDER, 'dist/main.js'),
    platform: 'browser',
    logLevel: 'warn',
    // A text: browsers read JSON faster than the same as script.
    transform: {
      define: { ANSWER_SCHEMAS: JSON.stringify(JSON.stringify(await answerSchemas())) },
    },
  });
  const { output } = await bundle.generate({ format: 'es', minify: true, codeSplitting: false });
  await bundle.close();
  return output[0].code;
}

/** Comments and indentation are left out; what remains compresses well. */
function styles() {
  const chart = createRequire(join(FOLDER, 'package.json')).resolve('uplot/dist/uPlot.min.css');
  const own = STYLED_ROOMS.flatMap((room) =>
    readdirSync(join(FOLDER, room))
      .filter((name) => name.endsWith('.css'))
      .sort()
      .map((name) => join(FOLDER, room, name)),
  );
  return [chart, ...own]
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s*\n\s*/g, '\n');
}

/** Gives the address relative to the page. */
function writeAsset(name, content) {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const extension = extname(name);
  const asset = `assets/${name.slice(0, -extension.length)}-${digest}${extension}`;
  const path = join(SITE, asset);
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  writeFileSync(path, content);
  writeFileSync(`${path}.br`, brotliCompressSync(content, brotli));
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  return asset;
}
