/** What can go wrong with a member of a group, as classes with a stable `code`. */
import type { Divergence } from './digest-points.js';

/** The rows of this node are not those of a majority, at one and the same entry of the log. */
export class StateDivergedError extends Error {
  readonly code = 'state_diverged';

  constructor(nodeNumber: number, { index, own, majority }: Divergence) {
    super(
      `state_diverged: the state of node ${nodeNumber} after entry ${index} has digest ${own}, ` +
        `and a majority of the voters has ${majority}. It was marked as damaged; at the next ` +
        'start it is moved aside and rebuilt from the log or from another node',
    );
    this.name = 'StateDivergedError';
  }
}
