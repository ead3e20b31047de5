import { realPath } from "../../../base/real-path.ts"
import type { StartingCall } from "../../../agent/facet.ts"
import { hasUser } from "../../services/command-notices.ts"
import { isProtectedFile } from "../../services/protected-file.ts"
import type { ProgramStarting } from "../../services/sandboxed-programs.ts"
import type { AppFacet, FacetContext } from "../../session/facet-context.ts"
import { createCommandChecks } from "./command-checks.ts"
import { createFindings } from "./findings.ts"
import { createKnownProject } from "./known-project.ts"
import { createProcessChecks } from "./process-checks.ts"

/** What is not checked by then is checked by the next session. */
const MAX_CLOSING_MS = 3000

/** Checks after each sandboxed command that it left nothing that other programs execute, where mounts cannot prevent it. */
export function executedFilesFacet(context: FacetContext): AppFacet | undefined {
  const { workspace, services, taskId } = context
  const { config, clock, commandNotices, backgroundChecks, processes } = services
  if (workspace.kind !== "local" || config.get("terminal.sandbox") === "off") return undefined
  const root = realPath(workspace.cwd())
  const project = createKnownProject(root, services.environment.get("PATH") ?? "")
  const findings = createFindings(commandNotices, { hasUser: hasUser(context.options) })
  const commandChecks = createCommandChecks({ context, root, project, findings })
  const processChecks = createProcessChecks({
    root,
    taskId,
    processes,
    checks: backgroundChecks,
    clock,
    countFindings: () => findings.count(),
  })
  /** Written with the user's consent or by a rule, so that the check of a background process must not undo it. */
  const writeStarting = ({ subjects }: StartingCall): (() => void) => {
    const paths = subjects.flatMap((one) => (one.kind === "path" ? [workspace.files.resolve(one.path)] : []))
    const written = backgroundChecks.accept(root, paths.map(realPath))
    const changesProtected = paths.some(isProtectedFile)
    return () => {
      written()
      if (changesProtected) project.refresh()
    }
  }
  /** What a language server writes is checked like what a background process writes. */
  const programStarting: ProgramStarting = async () => {
    if ((await workspace.isSandboxed?.()) !== true) return () => undefined
    const begin = await commandChecks.prepare()
    const exited = Promise.withResolvers<unknown>()
    processChecks.beginUntil(exited.promise, begin)
    return (exit) => {
      exited.resolve(exit)
    }
  }
  let stopObserving: (() => void) | undefined
  const commandStarting = async (call: StartingCall): Promise<() => void> => {
    // The process may exit during the check.
    const hadProcesses = processChecks.isChecking()
    const resume = await backgroundChecks.pause(root)
    try {
      const check = await commandChecks.begin(call, hadProcesses)
      return () => {
        try {
          check.ended()
          findings.showIn(call)
          if (processChecks.begin(() => check.beginBetweenCalls())) check.goesOn()
        } finally {
          resume()
        }
      }
    } catch (error) {
      resume()
      throw error
    }
  }
  return {
    name: "executed files",
    opened: () => {
      stopObserving = services.sandboxedPrograms.observe(taskId, programStarting)
    },
    awaitingReply: async (signal) => {
      await services.interruptedChecks()
      await project.prepare(signal)
    },
    toolStarting: async (call) => {
      await services.interruptedChecks()
      findings.showIn(call)
      if (call.access === "write") {
        return writeStarting(call)
      }
      if (call.access !== "exec" || (await workspace.isSandboxed?.()) !== true) return undefined
      return await commandStarting(call)
    },
    afterTool: () => findings.takeForModel(),
    beforeTurn: async () => {
      await commandChecks.endedAreChecked()
      return findings.takeForModel()
    },
    turnFooter: async () => {
      await Promise.all([commandChecks.endedAreChecked(), services.interruptedChecks()])
      return findings.takeForUser()
    },
    runEnded: () => {
      findings.shown()
      return Promise.resolve()
    },
    close: async () => {
      stopObserving?.()
      const waiting = new AbortController()
      await Promise.race([commandChecks.settled(), clock.sleep(MAX_CLOSING_MS, { signal: waiting.signal })])
      waiting.abort()
    },
  }
}
