/** What `/openapi.json` says of one route: its parameters, its body and its answers. */
import type { AnySchema } from '@svc/schema';
import { errorAnswer } from '@svc/wire';

export interface QueryParameter {
  readonly name: string;
  readonly description: string;
  readonly schema: AnySchema;
  readonly required?: true;
}

export interface RequestBody {
  readonly schema: AnySchema;
  /** The route answers without one too. */
  readonly optional?: true;
  /** A body of another shape is read as if it were absent, and never refused. */
  readonly lenient?: true;
}

export interface OperationAnswer {
  readonly description: string;
  /** null: no body. */
  readonly schema: AnySchema | null;
  /** `application/json` when absent. */
  readonly contentType?: string;
}

export interface Operation {
  /** Groups operations in tools that show the document. */
  readonly tag: string;
  readonly summary: string;
  /** Where what follows from method and path is taken. */
  readonly id?: string;
  readonly query?: readonly QueryParameter[];
  readonly body?: RequestBody;
  /**
   * By status. What every route of its kind can answer besides is added where the document is
   * made: refusals of the tenant, of the credential, of the body's bytes, of a node without leader.
   */
  readonly answers: Readonly<Record<number, OperationAnswer>>;
}

/** Operations by `METHOD path`, as the routes spell them. */
export type Operations = Readonly<Record<string, Operation>>;

export function refusal(description: string): OperationAnswer {
  return { description, schema: errorAnswer };
}

export function answer(description: string, schema: AnySchema): OperationAnswer {
  return { description, schema };
}

export function parameter(name: string, description: string, schema: AnySchema): QueryParameter {
  return { name, description, schema };
}

/** 507: only writes that make what is stored grow. */
export const STORAGE_FULL = refusal('`storage_full`: the disk of at least one node is too full.');
