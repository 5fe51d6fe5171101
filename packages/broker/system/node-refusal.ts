/** Nothing is damaged, but this directory must not be run as it was started. */
export class BootRefusedError extends Error {
  readonly code: string;

  constructor(code: string, text: string) {
    super(text);
    this.name = 'BootRefusedError';
    this.code = code;
  }
}

/** A directory whose cluster has other members, started as a node without a raft port. */
export function clusterDirectoryRefused(directory: string): BootRefusedError {
  const text = 'was written by the openraft replicator: run it with SVC_RAFT_REPLICATOR=openraft';
  return new BootRefusedError('cluster_directory', `${directory} ${text}`);
}
