import { realpathSync } from "node:fs"

import { errorMessage } from "../../base/system-error.ts"
import type { Watcher } from "../../exec/watcher/watcher.ts"
import type { FileTracker } from "../../toolkit/ports/files.ts"
import { createFileTracker } from "../../tools/file/tracking/file-tracker.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Which files the model has read and written, and which changed outside Hermes since. */
export function filesFacet({ taskId, options, services, workspace }: FacetContext): AppFacet {
  const { config, environment, home } = services
  const isLocal = workspace.kind === "local"
  const tracker = createFileTracker({
    taskId,
    registry: services.files,
    guard: !environment.truthy("HERMES_DISABLE_FILE_STATE_GUARD"),
    workspaceRoot: workspace.cwd(),
    directories: {
      profile: home.profile,
      userHome: home.userHome,
      hermesHome: home.path,
      hermesRoot: home.root,
      results: workspace.results.directory,
    },
    // Sub-agents share the workspace of the conversation.
    ...(isLocal ? {} : { scope: `${workspace.kind}:${options.child?.rootTaskId ?? taskId}` }),
  })
  let watcher: Promise<Watcher | undefined> | undefined
  return {
    name: "files",
    ports: () => ({ files: tracker }),
    opened: () => {
      if (!isLocal || !config.get("watcher.enabled")) return
      watcher = openWatcher({ workspace, tracker, services }).catch((error: unknown) => {
        services.log.warning(`external file changes are not noticed: ${errorMessage(error)}`)
        return undefined
      })
    },
    beforeTurn: async () => (await watcher)?.note(),
    toolStarting: async ({ entry, access }) => {
      if (entry.countsRepeats !== true) tracker.resetRepeatCount()
      return access === "exec" ? (await watcher)?.commandStarted(workspace.cwd()) : undefined
    },
    afterTool: async () => (await watcher)?.note(),
    // After a compression the contents of files are no longer in the conversation.
    rotated: () => {
      tracker.forget()
    },
    close: async () => {
      ;(await watcher)?.close()
    },
  }
}

async function openWatcher({
  workspace,
  tracker,
  services: { config, environment, clock, log },
}: Pick<FacetContext, "workspace" | "services"> & { readonly tracker: FileTracker }): Promise<Watcher> {
  const { createWatcher } = await import("../../exec/watcher/watcher.ts")
  return createWatcher({
    root: realpathSync(workspace.cwd()),
    settings: { include: config.get("watcher.include"), reportAll: config.get("watcher.report_all") },
    hooks: tracker,
    clock,
    log,
    path: environment.get("PATH") ?? "",
  })
}
