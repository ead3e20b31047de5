/** The body of a request as bytes that nobody changes any more, so that it can be sent again. */
export interface RequestBody {
  readonly chunks: readonly Uint8Array[]
  readonly byteLength: number
}

export function requestBody(chunks: readonly Uint8Array[]): RequestBody {
  return { chunks, byteLength: chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0) }
}
