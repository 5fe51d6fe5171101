// Goal: the reader that judges every scrape refuses what the format forbids. Method: one text for
// each rule, and one that uses all that is allowed.
import { expect, test } from 'vitest';
import { ExpositionError, readExposition } from './exposition-reader.fake.js';

const HEAD = '# HELP a_total What a is.\n# TYPE a_total counter\n';

test('what is allowed', () => {
  const families = readExposition(
    '# HELP a_total One \\\\ two \\n three.\n# TYPE a_total counter\n# a remark\n' +
      'a_total{x="1",y="\\"\\\\\\n"} 1e3\na_total 0.5 1395066363000\n\n' +
      '# HELP s A summary.\n# TYPE s summary\ns{quantile="0.5"} 1\ns{quantile="1"} 2\n' +
      's_sum 3\ns_count 4\n# TYPE g gauge\n# HELP g Order does not matter.\ng -Inf\ng{a=""} NaN\n',
  );
  expect([...families.keys()]).toEqual(['a_total', 's', 'g']);
  expect(families.get('a_total')?.samples).toEqual([
    { name: 'a_total', labels: { x: '1', y: '"\\\n' }, value: 1000 },
    { name: 'a_total', labels: {}, value: 0.5 },
  ]);
  expect(families.get('s')?.samples).toHaveLength(4);
});

test.each([
  ['no line feed at the end', `${HEAD}a_total 1`],
  ['a sample without a family', 'a_total 1\n'],
  ['a sample before its type', '# HELP a_total x\na_total 1\n# TYPE a_total counter\n'],
  ['no help', '# TYPE a_total counter\na_total 1\n'],
  ['an empty help', '# HELP a_total\n# TYPE a_total counter\na_total 1\n'],
  ['help twice', `# HELP a_total x\n${HEAD}a_total 1\n`],
  ['type twice', `${HEAD}# TYPE a_total counter\na_total 1\n`],
  ['help behind a sample', `${HEAD}a_total 1\n# HELP a_total x\n`],
  ['a type that there is not', '# HELP a x\n# TYPE a number\na 1\n'],
  [
    'a family in two pieces',
    `${HEAD}a_total 1\n# HELP b x\n# TYPE b gauge\nb 1\na_total{x="1"} 1\n`,
  ],
  ['a family twice', `${HEAD}a_total 1\n# HELP b x\n# TYPE b gauge\nb 1\n${HEAD}`],
  ['a name that is none', '# HELP a-b x\n# TYPE a-b gauge\na-b 1\n'],
  ['a label that is none', `${HEAD}a_total{1x="1"} 1\n`],
  ['a reserved label', `${HEAD}a_total{__x="1"} 1\n`],
  ['a label twice', `${HEAD}a_total{x="1",x="2"} 1\n`],
  ['a label without quotes', `${HEAD}a_total{x=1} 1\n`],
  ['an unknown escape in a label', `${HEAD}a_total{x="\\t"} 1\n`],
  ['an unknown escape in a help', '# HELP a \\t\n# TYPE a gauge\na 1\n'],
  ['a quote inside a label', `${HEAD}a_total{x="a"b"} 1\n`],
  ['a label without an end', `${HEAD}a_total{x="1\n`],
  ['the same sample twice', `${HEAD}a_total{x="1",y="2"} 1\na_total{y="2",x="1"} 2\n`],
  ['no value', `${HEAD}a_total\n`],
  ['a value that is none', `${HEAD}a_total one\n`],
  ['a hexadecimal value', `${HEAD}a_total 0x10\n`],
  ['a time that is none', `${HEAD}a_total 1 now\n`],
  ['a counter below zero', `${HEAD}a_total -1\n`],
  ['a counter that is not a number', `${HEAD}a_total NaN\n`],
  ['a carriage return', `${HEAD}a_total 1\r\n`],
  ['a summary without quantile', '# HELP s x\n# TYPE s summary\ns 1\n'],
  ['a sum with a quantile', '# HELP s x\n# TYPE s summary\ns_sum{quantile="1"} 1\n'],
  ['a quantile above one', '# HELP s x\n# TYPE s summary\ns{quantile="2"} 1\n'],
  ['a histogram without a bound', '# HELP h x\n# TYPE h histogram\nh_bucket 1\n'],
  [
    'buckets that fall',
    '# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_count 1\n',
  ],
  [
    'a count that is not that of the last bucket',
    '# HELP h x\n# TYPE h histogram\nh_bucket{le="+Inf"} 2\nh_sum 3\nh_count 3\n',
  ],
  ['quantiles that fall', '# HELP s x\n# TYPE s summary\ns{quantile="0.5"} 2\ns{quantile="1"} 1\n'],
])('refused: %s', (_what, text) => {
  expect(() => readExposition(text)).toThrow(ExpositionError);
});
