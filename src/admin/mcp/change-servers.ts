import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { editConfig } from "../../config/edit-config.ts"
import { forgetStoredServer, readStoredServer } from "../../mcp/catalogue/stored-server.ts"
import { openOAuthStore } from "../../mcp/client/oauth-store.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { findServer, openHomeServers } from "./home-servers.ts"
import { separateSecrets, storeSecrets } from "./secret-values.ts"
import { heldTools } from "./server-facts.ts"
import type { ServerFacts } from "./server-facts.ts"
import { connectOnce } from "./test-server.ts"
import type { McpOperation } from "./test-server.ts"

export interface NewServer {
  readonly name: string
  readonly url?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly auth?: "oauth"
}

export interface AddedServer {
  /** False when some of its tools are blocked and `force` is not set. */
  readonly saved: boolean
  /** Absent when the server did not answer and was saved nevertheless. */
  readonly facts?: ServerFacts
  readonly problem?: string
  /** Variables of `.env` that hold its secrets. */
  readonly variables: readonly string[]
}

/**
 * Connects to a new server and saves it in the settings. Saves nothing when it does not answer or when the scan blocked one of its tools,
 * unless `force` is set. A server with `auth` may still need its login.
 */
export async function addServer(
  loaded: LoadedHome,
  server: NewServer,
  { force, ...options }: McpOperation & { readonly force: boolean },
): Promise<Result<AddedServer, AdminFailure>> {
  const { name } = server
  if (!/^[\w.-]{1,64}$/u.test(name))
    return fail({
      kind: "invalid",
      message: `${JSON.stringify(name)} cannot be a name; use letters, digits, dots and dashes`,
    })
  if (Object.hasOwn(loaded.config.get("mcp_servers"), name))
    return fail({
      kind: "failed",
      message: `There is an MCP server ${name} already; remove it first with \`hermes mcp remove ${name}\``,
    })
  const env = separateSecrets(name, server.env ?? {}, "env")
  const headers = separateSecrets(name, server.headers ?? {}, "headers")
  const entry = (values: { env: object; headers: object }): Record<string, unknown> => ({
    ...(server.url === undefined ? {} : { url: server.url }),
    ...(server.command === undefined ? {} : { command: server.command, args: [...(server.args ?? [])] }),
    ...(Object.keys(values.env).length === 0 ? {} : { env: values.env }),
    ...(Object.keys(values.headers).length === 0 ? {} : { headers: values.headers }),
    ...(server.auth === undefined ? {} : { auth: server.auth }),
  })
  const opened = openHomeServers(loaded, {
    ...options,
    entries: { [name]: entry({ env: server.env ?? {}, headers: server.headers ?? {} }) },
  })
  const [first] = opened.list
  if (first === undefined) return fail({ kind: "invalid", message: opened.problems[0] ?? "the server cannot be used" })
  const connected = await connectOnce({ servers: opened, server: first }, options)
  const isComplete = connected.ok
    ? heldTools(connected.value).length === 0
    : connected.error.needsLogin && server.auth === "oauth"
  if (!isComplete && !force) {
    forgetStoredServer(loaded.home, name)
    if (!connected.ok) return fail({ kind: "failed", message: connected.error.message })
    return ok({ saved: false, facts: connected.value, variables: [] })
  }
  const secrets = { ...env.secrets, ...headers.secrets }
  const stored = await storeSecrets(loaded, secrets)
  if (!stored.ok) return stored
  const saved = await editConfig(loaded, [
    { path: ["mcp_servers", name], value: entry({ env: env.values, headers: headers.values }) },
  ])
  if (!saved.ok) return saved
  const variables = Object.keys(secrets)
  const outcome = connected.ok ? { facts: connected.value } : { problem: connected.error.message }
  return ok({ saved: true, variables, ...outcome })
}

/** Removes a server from the settings, with its stored tools and its login. */
export async function removeServer(loaded: LoadedHome, name: string): Promise<Result<undefined, AdminFailure>> {
  if (!Object.hasOwn(loaded.config.get("mcp_servers"), name)) {
    const missing = findServer(loaded, name)
    if (!missing.ok) return missing
  }
  const edited = await editConfig(loaded, [{ path: ["mcp_servers", name], remove: true }])
  if (!edited.ok) return edited
  forgetStoredServer(loaded.home, name)
  openOAuthStore(loaded.home, name).forget("all")
  return ok(undefined)
}

/** Chooses which tools of a server are offered; undefined means all. A name that the last connection did not list is refused. */
export async function selectTools(
  loaded: LoadedHome,
  name: string,
  include: readonly string[] | undefined,
): Promise<Result<undefined, AdminFailure>> {
  const found = findServer(loaded, name)
  if (!found.ok) return found
  const path = ["mcp_servers", name, "tools", "include"]
  if (include === undefined) {
    if (found.value.tools.include === undefined) return ok(undefined)
    return await editConfig(loaded, [{ path, remove: true }])
  }
  const known = readStoredServer(loaded.home, found.value)?.tools
  const unknown = include.filter((tool) => !tool.includes("*") && known?.some((one) => one.name === tool) === false)
  if (unknown.length > 0)
    return fail({ kind: "failed", message: `The MCP server ${name} has no tool ${unknown.join(", ")}` })
  return await editConfig(loaded, [{ path, value: [...include] }])
}
