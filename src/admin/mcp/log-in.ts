import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { editConfig } from "../../config/edit-config.ts"
import { logInToServer } from "../../mcp/client/login.ts"
import type { LoginOptions } from "../../mcp/client/login.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { findServer } from "./home-servers.ts"

/** Logs in to a server with OAuth, and records in the settings that it needs that. */
export async function logInToMcpServer(
  loaded: LoadedHome,
  name: string,
  ports: Pick<LoginOptions, "showPage" | "askForRedirect" | "signal">,
): Promise<Result<undefined, AdminFailure>> {
  const found = findServer(loaded, name)
  if (!found.ok) return found
  const { target } = found.value
  if (target.kind !== "http")
    return fail({ kind: "invalid", message: `the server ${name} is a program on this machine and has no login` })
  const { config, home, environment, clock } = loaded
  const done = await logInToServer({
    ...ports,
    home,
    environment,
    clock,
    server: name,
    target,
    allowPrivate: config.get("security.allow_private_urls"),
    trustedHosts: config.get("security.trusted_hosts"),
  })
  if (!done.ok) return fail({ kind: "failed", message: `The login at ${name} failed: ${done.error}` })
  if (target.oauth !== undefined) return ok(undefined)
  return await editConfig(loaded, [{ path: ["mcp_servers", name, "auth"], value: "oauth" }])
}
