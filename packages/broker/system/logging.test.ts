// Goal: one line per event, by level and target, as text or JSON, out before the process is gone.
// Method: a logger that writes into an array; for standard output a child process,
// running the built logger, that exits at once.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { createLogger, type LoggingOptions } from './logging.js';
import { parseLogFilter } from './logging-filter.js';

function capture(options: LoggingOptions) {
  const lines: string[] = [];
  return { lines, logger: createLogger(options, (line) => lines.push(line)) };
}

test('a text line is time, level, target, text and fields', () => {
  const { lines, logger } = capture({ level: 'info', json: false });
  logger.info('raft', 'leading', { term: 3, first: true });
  logger.warn('http', 'slow body');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO {2}raft leading term=3 first=true\n$/,
  );
  expect(lines[1]).toMatch(/Z WARN {2}http slow body\n$/);
});

test('a JSON line is one object with the same parts', () => {
  const { lines, logger } = capture({ level: 'info', json: true });
  logger.error('log', 'a "quoted"\ntext', { segment: 2 });
  expect(lines).toHaveLength(1);
  expect(lines[0]?.indexOf('\n')).toBe((lines[0]?.length ?? 0) - 1);
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'error',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    target: 'log',
    segment: 2,
    message: 'a "quoted"\ntext',
  });
});

test.each([
  ['info', ['raft info', 'raft error', 'http info', 'http error']],
  ['error', ['raft error', 'http error']],
  ['off', []],
  ['info,raft=debug', ['raft debug', 'raft info', 'raft error', 'http info', 'http error']],
  ['raft=off', ['http info', 'http error']],
  ['warn, http = trace', ['raft error', 'http debug', 'http info', 'http error']],
])('the filter %s', (level, expected) => {
  const { lines, logger } = capture({ level, json: true });
  for (const target of ['raft', 'http']) {
    logger.debug(target, 'x');
    logger.info(target, 'x');
    logger.error(target, 'x');
  }
  const written = lines
    .map((line) => JSON.parse(line))
    .map((line) => `${line.target} ${line.level}`);
  expect(written).toEqual(expected);
});

test.each(['', 'inof', 'raft=', '=debug', 'raft=debug=info', 'info,,debug', 'raft'])(
  '%j is not a filter',
  (text) => {
    expect(parseLogFilter(text)).toBeNull();
    expect(() => createLogger({ level: text, json: false }, () => {})).toThrow('not a log filter');
  },
);

test('fatal is one line at error level, whatever the filter says and the text holds', () => {
  const { lines, logger } = capture({ level: 'off', json: false });
  logger.fatal('PORT=8\n0\u001b[31m is not a port');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/Z ERROR boot FATAL: PORT=8\\n0\\u001b\[31m is not a port\n$/);
});

test('the last line is out when the process exits', () => {
  const logging = new URL('../dist/system/logging.js', import.meta.url).href;
  const program = `
    import { createLogger } from ${JSON.stringify(logging)};
    const logger = createLogger({ level: 'info', json: false });
    for (let i = 0; i < 5000; i++) logger.info('boot', 'line ' + i + '-'.repeat(100));
    logger.fatal('the last one');
    process.exit(1);`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  expect(child.status).toBe(1);
  expect(child.stdout.split('\n')).toHaveLength(5002);
  expect(child.stdout).toMatch(/Z ERROR boot FATAL: the last one\n$/);
});
