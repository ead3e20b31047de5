import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { takeCodePoints } from "../../base/text.ts"
import type { Environment } from "../../config/environment.ts"
import { createGuardedFetch } from "../../llm/http/guarded-fetch.ts"
import type { GuardedFetchOptions } from "../../llm/http/guarded-fetch.ts"
import { wrapUntrusted } from "../../toolkit/untrusted.ts"
import type { Attachment } from "./attachment.ts"
import { htmlText } from "./html-text.ts"

export interface UrlContext {
  readonly environment: Environment
  readonly redact: (text: string) => string
  readonly signal: AbortSignal
  /** Hosts that may have a private address; by default none. */
  readonly allowsPrivate?: GuardedFetchOptions["allowsPrivate"]
}

const MAX_BYTES = 4_000_000
const MAX_CHARS = 100_000
const TIMEOUTS = { connectMs: 15_000, idleMs: 15_000, totalMs: 30_000 }

/** The text of a web page. Private addresses are refused: a page that the user copied from somewhere could name them. */
export async function attachUrl(address: string, context: UrlContext): Promise<Result<Attachment>> {
  const { environment, signal, allowsPrivate = () => false } = context
  const url = URL.parse(address.includes("://") ? address : `https://${address}`)
  if (url === null) return fail("it is not an address")
  if (url.username !== "" || url.password !== "")
    return fail("an address with a user name or password is not fetched; leave them out")
  const guarded = createGuardedFetch({
    environment,
    allowsPrivate,
    timeouts: TIMEOUTS,
    maxBytes: MAX_BYTES,
  })
  try {
    const response = await guarded.fetch(url, { headers: { accept: "text/html, text/plain, */*;q=0.5" }, signal })
    if (!response.ok) return fail(`the server answered with status ${response.status}`)
    const type = (response.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""
    if (!isText(type)) return fail(`it is not a text (${type})`)
    const received = await response.text()
    const text = type.includes("html") ? htmlText(received) : received
    if (text.trim() === "") return fail("the page has no text")
    const redacted = context.redact(text)
    const shown = takeCodePoints(redacted, MAX_CHARS)
    const wrapped = wrapUntrusted(shown, { tool: "url", provenance: "web" })
    const isCut = shown.length < redacted.length
    return ok({ body: isCut ? `${wrapped}\n[Only the first ${MAX_CHARS} characters are attached.]` : wrapped })
  } catch (error) {
    return fail(errorMessage(error))
  } finally {
    guarded.close()
  }
}

function isText(type: string): boolean {
  return type === "" || type.startsWith("text/") || /[/+](?:json|xml|xhtml|yaml|javascript|toml)\b/u.test(type)
}
