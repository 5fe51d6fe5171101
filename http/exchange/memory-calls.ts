/** The calls in memory that one server has open: as many at once as there may be connections. */
import type { Connections } from './connections.js';
import {
  type CallClient,
  type CallRequest,
  type MemoryCall,
  MemoryRequest,
  MemoryResponse,
} from './memory-call.js';

/** Takes a call as it would a request of a socket; its body follows. */
export type OnCall = (
  response: MemoryResponse,
  request: MemoryRequest,
  identity: CallRequest['identity'],
) => void;

export class MemoryCalls {
  readonly #connections: Connections;
  readonly #onCall: OnCall;
  readonly #open = new Set<MemoryResponse>();
  #isClosed = false;

  constructor(connections: Connections, onCall: OnCall) {
    this.#connections = connections;
    this.#onCall = onCall;
  }

  begin(request: CallRequest, client: CallClient): MemoryCall {
    const call = new MemoryResponse(client, request.peer, this.#open);
    if (this.#isClosed) call.close();
    else if (this.#connections.isBeyond(this.#open.size)) this.#connections.refuse(call);
    else {
      this.#onCall(call, new MemoryRequest(request), request.identity);
      call.bringBody(request.body);
    }
    return call;
  }

  /** Breaks off those that are open, and each one that is begun later. */
  close(): void {
    this.#isClosed = true;
    for (const call of this.#open) call.close();
  }
}
