import type { SimulatedMachine } from './simulated-machine.js';

/** One line for each machine, for a failure. */
export function pictureOf(machines: readonly SimulatedMachine[]): string {
  return machines
    .map((machine) => {
      const { number, node } = machine;
      if (node === null) return `machine ${number}: ${machine.isRefused ? 'refused' : 'down'}`;
      const { status } = machine;
      if (status === null) return `machine ${number}: consensus does not run`;
      const { id, role, leading, term, commit, applied, firstIndex, configuration } = status;
      const { voters, learners, outgoing } = configuration;
      return (
        `machine ${number}: member ${id} ${role}${leading ? ' leading' : ''} term ${term} ` +
        `log ${firstIndex}-${status.lastIndex} commit ${commit} applied ${applied} ` +
        `voters ${voters} ` +
        `learners ${learners} outgoing ${outgoing}${machine.paused ? ' paused' : ''}` +
        `${machine.impaired ? ' impaired' : ''}${status.recovering ? ' recovering' : ''}`
      );
    })
    .join('\n');
}
