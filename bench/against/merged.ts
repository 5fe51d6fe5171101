// Several results of `--against` as one: a whole table takes long, so it may be measured in pieces,
// such as one node first and three nodes later. A ratio stays what it was, for both of its sides
// were measured in one piece.

import type { AgainstResult, Contender, Measurement } from './result.js';

/**
 * Conditions are those of the first. Ours may stand in several pieces, beside the durable others
 * and beside those at their defaults: then the first counts. Throws when another system was
 * measured twice under one load.
 */
export function merged(pieces: readonly AgainstResult[]): AgainstResult {
  const [first] = pieces;
  if (first === undefined) throw new Error('--page: none of the files is a result of --against');
  const verdicts = new Map(
    pieces
      .flatMap((piece) => piece.latencyVerdicts)
      .reverse()
      .map((one) => [`${one.nodes} ${one.payloadBytes} ${one.quantile}`, one]),
  );
  return {
    ...first,
    command: pieces.map(({ command }) => command).join('; '),
    contenders: distinct(pieces.flatMap((piece) => piece.contenders)),
    measurements: once(pieces.flatMap((piece) => piece.measurements)),
    comparisons: pieces.flatMap((piece) => piece.comparisons),
    latencyVerdicts: [...verdicts.values()].reverse(),
    leftOut: pieces.flatMap((piece) => piece.leftOut),
  };
}

function once(measurements: readonly Measurement[]): readonly Measurement[] {
  const seen = new Set<string>();
  return measurements.filter(({ system, setting, nodes, work, payloadBytes, batch }) => {
    const load = `${system}, ${setting}, ${nodes} nodes, ${work}, ${payloadBytes} bytes x ${batch}`;
    if (!seen.has(load)) {
      seen.add(load);
      return true;
    }
    if (system === 'ours') return false;
    throw new Error(`--page: two of the files have measured ${load}`);
  });
}

function distinct(contenders: readonly Contender[]): readonly Contender[] {
  const keyOf = ({ system, setting, nodes }: Contender) => `${system} ${setting} ${nodes}`;
  return [...new Map(contenders.map((one) => [keyOf(one), one])).values()];
}
