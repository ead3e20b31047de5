import type { Destination } from "./host-list.ts"

/** A client that has said where it wants to go and waits for the answer. */
export interface ProxyRequest {
  readonly destination: Destination
  /** Bytes for the destination that came with the request. */
  readonly head: Buffer
  /** Tells the client that it is connected. */
  accept(): void
  /** Tells the client why it is not, and closes. */
  refuse(reason: string): void
}
