import { createBodyEncoder } from "../../src/llm/wire/body-encoder.ts"
import type { RequestBody } from "../../src/llm/http/request-body.ts"
import type { EncodedRequest } from "../../src/llm/wire/wire.ts"

/** The text of a request body that is encoded from scratch. */
export function bodyText(request: EncodedRequest): string {
  return textOf(createBodyEncoder()(request))
}

export function textOf({ chunks }: RequestBody): string {
  return Buffer.concat(chunks).toString("utf8")
}
