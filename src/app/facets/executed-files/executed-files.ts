import { realPath } from "../../../base/real-path.ts"
import type { StartingCall } from "../../../agent/facet.ts"
import { agentInstructions, executedByOthers } from "../../../policy/file-floor.ts"
import type { Subject } from "../../../protocol/tool.ts"
import { hasUser } from "../../services/command-notices.ts"
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
  const project = createKnownProject(root)
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
  const isProtected = (subject: Subject): boolean => {
    if (subject.kind !== "path") return false
    const path = workspace.files.resolve(subject.path)
    return executedByOthers(path) !== undefined || agentInstructions(path) !== undefined
  }
  /** Written with the user's consent or by a rule, so that the check of a background process must not undo it. */
  const acceptWrites = ({ subjects }: StartingCall): void => {
    const paths = subjects.flatMap((one) => (one.kind === "path" ? [realPath(workspace.files.resolve(one.path))] : []))
    backgroundChecks.accept(root, paths)
  }
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
          processChecks.begin(() => check.beginBetweenCalls())
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
    awaitingReply: async (signal) => {
      await services.interruptedChecks()
      await project.prepare(signal)
    },
    toolStarting: async (call) => {
      await services.interruptedChecks()
      findings.showIn(call)
      if (call.access === "write") {
        acceptWrites(call)
        return call.subjects.some(isProtected) ? () => project.refresh() : undefined
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
      const waiting = new AbortController()
      await Promise.race([commandChecks.settled(), clock.sleep(MAX_CLOSING_MS, { signal: waiting.signal })])
      waiting.abort()
    },
  }
}
