/** Requests and messages since the process started (inspection 8.2); the broker may export them. */
export interface Counters {
  pushRequests: number;
  pushMessages: number;
  popRequests: number;
  popMessages: number;
  ackRequests: number;
  ackMessages: number;
}

export function newCounters(): Counters {
  return {
    pushRequests: 0,
    pushMessages: 0,
    popRequests: 0,
    popMessages: 0,
    ackRequests: 0,
    ackMessages: 0,
  };
}
