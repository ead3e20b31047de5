import { loadHome } from "../../../admin/loaded-home.ts"
import type { LoadedHome } from "../../../admin/loaded-home.ts"
import type { McpOperation } from "../../../admin/mcp/test-server.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { VERSION } from "../../version.ts"

export async function openHome(invocation: Invocation): Promise<LoadedHome> {
  return await loadHome(homeContext(invocation))
}

/** Stdio servers start in the current directory. */
export function operation({ signal }: Pick<Invocation, "signal">): McpOperation {
  return { cwd: process.cwd(), version: VERSION, signal }
}
