import { readdirSync } from "node:fs"

import { realPath } from "../../base/real-path.ts"
import { hasUser } from "../services/command-notices.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** How many commands are remembered; a process of an earlier one was reported after its turn. */
const MAX_COMMANDS = 200

/** The processes that ran before the first command of this process. They need not be looked at after each turn. */
let older: ReadonlySet<string> | undefined

/** Reports processes that commands without a sandbox left behind, which no command ends any more. */
export function orphanedProcessesFacet({ workspace, services, options }: FacetContext): AppFacet | undefined {
  if (workspace.kind !== "local" || process.platform !== "linux") return undefined
  const { commandNotices: notices } = services
  const root = realPath(workspace.cwd())
  const running = new Set<number>()
  let ran: { readonly fromMs: number; readonly toMs: number }[] = []
  const reported = new Set<number>()
  const report = async (): Promise<void> => {
    const { findOrphans } = await import("../../exec/orphaned-processes.ts")
    const now = [...running].map((fromMs) => ({ fromMs, toMs: Date.now() }))
    const groups = workspace.processGroups?.() ?? []
    const found = findOrphans({ ran: [...ran, ...now], directories: [root], groups, older: older ?? new Set() }).filter(
      ({ pid }) => !reported.has(pid),
    )
    for (const { pid } of found) reported.add(pid)
    const list = found.map(({ pid, command }) => `${pid} (${services.redactor.redact(command)})`).join(", ")
    if (found.length > 0)
      notices.add([
        `A command left processes behind that Hermes does not end: ${list}. If you do not need them, end them with: kill ${found.map(({ pid }) => pid).join(" ")}`,
      ])
  }
  let isTurnChecked = true
  return {
    name: "orphaned processes",
    toolStarting: async (call) => {
      // A sandbox ends all of its processes.
      if (call.access !== "exec" || (await workspace.isSandboxed?.()) === true) return undefined
      isTurnChecked = false
      older ??= runningProcesses()
      const fromMs = Date.now()
      running.add(fromMs)
      return () => {
        running.delete(fromMs)
        ran = [...ran, { fromMs, toMs: Date.now() }].slice(-MAX_COMMANDS)
      }
    },
    runEnded: async () => {
      if (hasUser(options)) notices.shown()
      if (isTurnChecked) return
      isTurnChecked = true
      await report()
    },
    turnFooter: () => {
      const texts = hasUser(options) ? notices.take() : []
      return texts.length === 0 ? undefined : texts.join("\n")
    },
    close: async () => {
      if (!isTurnChecked) await report()
    },
  }
}

function runningProcesses(): ReadonlySet<string> {
  try {
    return new Set(readdirSync("/proc"))
  } catch {
    // This system has no /proc.
    return new Set()
  }
}
