import { tmpdir } from "node:os"
import { join } from "node:path"

import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import { isExcluded } from "../../exec/checkpoints/excluded-names.ts"
import { runsPrograms } from "../../exec/project/project-protection.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { Walls } from "../../policy/commands/command-verdict.ts"
import { isRestorable } from "../../policy/rules/restorable.ts"
import { packageCaches, writableDirectories } from "../session/session-workspace.ts"

export interface WallSources {
  readonly config: Config
  readonly home: Home
  readonly workspaceRoot: string
  /** Writable directories besides those of the settings. */
  readonly writable: readonly string[]
  readonly hasCheckpoints: boolean
}

/** What confines the commands of a workspace. Opens the sandbox if there is one. */
export async function workspaceWalls(workspace: Workspace, sources: WallSources): Promise<Walls> {
  if (workspace.isContainer) return { kind: "container" }
  return (await workspace.isSandboxed?.()) === true ? sandboxWalls(sources) : { kind: "none" }
}

const NETWORK: Readonly<Record<string, "on" | "off" | "list">> = { true: "on", false: "off", list: "list" }

/** The sandbox as the settings describe it. */
export function sandboxWalls({ config, home, workspaceRoot, writable, hasCheckpoints }: WallSources): Walls {
  const expendable = [tmpdir(), ...packageCaches(home)]
  return {
    kind: "sandbox",
    network: NETWORK[String(config.get("terminal.sandbox_network"))] ?? "on",
    hosts: config.get("terminal.sandbox_hosts"),
    ...(config.get("terminal.sandbox_sockets").length > 0 ? { sockets: true as const } : {}),
    ...(runsPrograms(join(workspaceRoot, ".git/config"), home.userHome) ? { gitStartsPrograms: true as const } : {}),
    writable: [...writableDirectories(workspaceRoot, { config, home }), ...writable, ...packageCaches(home)],
    isRestorable: (path) =>
      isRestorable(path, {
        workspaceRoot,
        expendable,
        hasCheckpoints,
        isExcluded: (name) => isExcluded(name, "directory"),
      }),
  }
}
