import { serveStdio } from "@modelcontextprotocol/server/stdio"

import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { openServedHome } from "./served-home.ts"
import type { ServeOptions } from "./served-home.ts"

/** Serves a home on standard input and output, until the input ends or the signal aborts. */
export async function serveMcp(loaded: LoadedHome, options: ServeOptions): Promise<Result<undefined, AdminFailure>> {
  const served = await openServedHome(loaded, options)
  if (!served.ok) return served
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const handle = serveStdio(served.value.createServer, {
    onerror: (error) => loaded.log.warning(`MCP server: ${error.message}`),
  })
  for (const event of ["end", "close"]) process.stdin.once(event, resolve)
  process.stdout.once("error", () => resolve())
  options.signal.addEventListener("abort", () => resolve(), { once: true })
  await ended
  await handle.close()
  await served.value.close()
  return ok(undefined)
}
