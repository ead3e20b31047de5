import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { acceptTool } from "../../mcp/catalogue/pin-tools.ts"
import { readStoredServer, writeStoredServer } from "../../mcp/catalogue/stored-server.ts"
import type { StoredTool } from "../../mcp/catalogue/stored-server.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { findServer } from "./home-servers.ts"

/** A tool whose newest description is not accepted. */
export interface QuarantinedTool {
  readonly name: string
  readonly reason: string
  /** The scan found something in it; it is accepted only by name. */
  readonly blocked: boolean
  readonly before: string
  readonly now: string
}

/** The tools of a server that wait for the user; those that `tool` names, or all. */
export function quarantinedTools(
  loaded: LoadedHome,
  name: string,
  tool?: string,
): Result<readonly QuarantinedTool[], AdminFailure> {
  const found = findServer(loaded, name)
  if (!found.ok) return found
  const stored = readStoredServer(loaded.home, found.value)
  if (stored === undefined)
    return fail({
      kind: "failed",
      message: `Nothing is known about ${name} yet; connect to it with \`hermes mcp test ${name}\``,
    })
  const waiting = stored.tools.filter((one) => one.waiting !== undefined && (tool === undefined || one.name === tool))
  if (tool !== undefined && waiting.length === 0)
    return fail({ kind: "failed", message: `the tool ${tool} of ${name} is not quarantined` })
  return ok(waiting.map(quarantined))
}

function quarantined({ name, accepted, waiting, reason = "", blocked = false }: StoredTool): QuarantinedTool {
  return { name, reason, blocked, before: accepted?.description ?? "", now: waiting?.description ?? "" }
}

/** Accepts the newest description of these tools. */
export function acceptTools(
  loaded: LoadedHome,
  name: string,
  tools: readonly string[],
): Result<undefined, AdminFailure> {
  const found = findServer(loaded, name)
  if (!found.ok) return found
  const stored = readStoredServer(loaded.home, found.value)
  if (stored === undefined) return fail({ kind: "failed", message: `Nothing is known about ${name}` })
  writeStoredServer(loaded.home, name, {
    ...stored,
    tools: stored.tools.map((tool) => (tools.includes(tool.name) ? acceptTool(tool) : tool)),
  })
  return ok(undefined)
}
