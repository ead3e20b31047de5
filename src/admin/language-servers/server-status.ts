import type { BrokenServer } from "../../exec/language-server/broken-servers.ts"
import type { LocatedProgram } from "../../exec/language-server/find-server.ts"
import { projectServers } from "../../exec/language-server/project-servers.ts"
import type { ConfiguredServer } from "../../exec/language-server/server-settings.ts"
import type { HomeContext } from "../home-context.ts"
import { sandboxState } from "../report/sandbox-state.ts"
import { installHint, loadServers, type LanguageServers } from "./load-servers.ts"

export interface ServerStatus {
  /** Why no server is used in this directory, as a sentence; undefined when servers are used. */
  readonly unusedReason: string | undefined
  readonly workTree: string | undefined
  /** The servers that the files of the project need. */
  readonly servers: readonly ProjectServer[]
  readonly failures: readonly BrokenServer[]
  readonly problems: readonly string[]
}

export interface ProjectServer extends ServerState {
  readonly name: string
  /** How many files of the project it is for. */
  readonly files: number
}

interface ServerState {
  readonly state: "ready" | "failed" | "needs-sandbox" | "missing"
  readonly text: string
  readonly program: LocatedProgram | undefined
}

/** Reports the language servers of the project that contains a directory. */
export async function serverStatus(
  context: HomeContext,
  { directory, signal }: { readonly directory: string; readonly signal: AbortSignal },
): Promise<ServerStatus> {
  const loaded = await loadServers(context, { directory })
  const { workTree, servers, broken, problems } = loaded
  const hasSandbox = (await sandboxState(loaded.home, signal)).kind === "on"
  const needed = workTree === undefined ? [] : projectServers(workTree, servers)
  return {
    unusedReason: unusedReason(loaded),
    workTree,
    servers: needed.map(({ server, files }) => ({
      name: server.name,
      files,
      ...stateOf(server, { loaded, hasSandbox }),
    })),
    failures: broken,
    problems,
  }
}

function unusedReason({ home: { config }, workTree }: LanguageServers): string | undefined {
  if (!config.get("lsp.enabled")) return "Language servers are disabled by lsp.enabled."
  const backend = config.get("terminal.backend")
  if (backend !== "local") return `Language servers are not used: files are in ${backend}, not on this machine.`
  return workTree === undefined ? "Language servers are not used here: this is not a git work tree." : undefined
}

function stateOf(
  server: ConfiguredServer,
  { loaded, hasSandbox }: { readonly loaded: LanguageServers; readonly hasSandbox: boolean },
): ServerState {
  const program = loaded.locate(server)
  if (program === undefined) return { state: "missing", text: `not installed: ${installHint(server)}`, program }
  const path = program.command.join(" ")
  const { workTree = "" } = loaded
  if (loaded.broken.some((failure) => failure.server === server.name && failure.root.startsWith(workTree))) {
    return { state: "failed", text: `failed, see below: ${path}`, program }
  }
  if (program.needsSandbox && !hasSandbox) {
    const text = `not started: it runs code of the project, and there is no sandbox; trust it with lsp.servers.${server.name}.trusted`
    return { state: "needs-sandbox", text, program }
  }
  return { state: "ready", text: path, program }
}
