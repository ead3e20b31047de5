import { basename, dirname, join } from "node:path"

import { lazy } from "../../base/lazy.ts"
import { realPath } from "../../base/real-path.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import type { StartingCall } from "../../agent/facet.ts"
import type { Checkpoints } from "../../exec/checkpoints/checkpoints.ts"
import type { Message, UserMessage } from "../../protocol/message.ts"
import { isProtectedFile } from "../services/protected-file.ts"
import { conversationRows } from "../services/conversation-rows.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { createMissingSnapshots } from "./missing-snapshots.ts"

const MAX_REASON_CHARS = 120
const PRUNE_MS = 5000

/** Snapshots of the project before the first change of a turn, to undo it. Only for files on this machine. */
export function checkpointsFacet(context: FacetContext): AppFacet | undefined {
  const { options, services, workspace } = context
  if (workspace.kind !== "local") return undefined
  const isEnabled = options.checkpoints ?? services.config.get("checkpoints.enabled")
  const initialDirectory = workspace.cwd()
  const missing = createMissingSnapshots({
    mayAsk: () => context.session().dispatch.permissions.profile !== "full-auto",
  })
  const earlierSessionIds: string[] = []
  let turns = 0
  /** Index of the first message to remove when a checkpoint with its conversation was restored in this run. */
  let rewindTo: number | undefined
  const checkpoints = lazy(async () => {
    const opened = await openCheckpoints(context, {
      enabled: isEnabled,
      initialDirectory,
      earlierSessionIds,
      rewind: (messageCount) => {
        rewindTo = messageCount
      },
    })
    if (options.resume !== undefined) earlierSessionIds.push(...(await sessionsBefore(context)))
    opened.beginTurn(String(turns))
    return opened
  })
  /** False while the store was opened in advance only. */
  let isUsed = false
  return {
    name: "checkpoints",
    ports: () => ({ checkpoints: async () => (await checkpoints()).named }),
    abilities: () => ({ checkpoints }),
    beforeTurn: async () => {
      turns += 1
      missing.beginTurn()
      ;(await checkpoints.peek())?.beginTurn(String(turns))
      return undefined
    },
    awaitingReply: async () => {
      if (isEnabled) await (await checkpoints()).prepare()
    },
    toolStarting: async (call) => {
      if (!isEnabled || !mayChangeProject(call)) return undefined
      // Commands can change nothing in plan mode.
      if (call.access === "exec" && context.session().dispatch.permissions.profile === "plan") return undefined
      isUsed = true
      const opened = await checkpoints()
      const problems = await opened.beforeChange({
        ...writtenPaths(call, context),
        reason: ellipsize(`${call.tool} ${call.preview}`, MAX_REASON_CHARS),
        signal: call.signal,
      })
      await missing.report(problems, call)
      return undefined
    },
    turnFooter: () => missing.takeFooter(),
    rotated: ({ from }) => {
      earlierSessionIds.unshift(from)
    },
    runEnded: async () => {
      const index = rewindTo
      rewindTo = undefined
      if (index !== undefined) await context.session().conversation.rewind(index)
    },
    close: async () => {
      await (await checkpoints.peek())?.close(isUsed ? AbortSignal.timeout(PRUNE_MS) : AbortSignal.abort())
    },
  }
}

/** The path with all links resolved except one at the end. */
function realEntry(path: string): string {
  return join(realPath(dirname(path)), basename(path))
}

/** A built-in tool that writes without naming a path changes the home of Hermes only: its memory or its skills. */
function mayChangeProject({ access, subjects, entry }: StartingCall): boolean {
  if (access !== "write") return access === "exec"
  return entry.source.kind !== "builtin" || subjects.some(({ kind }) => kind === "path")
}

/** A command may change anything in its directory, so only calls that write files have paths. */
function writtenPaths(
  { access, subjects }: StartingCall,
  { workspace }: FacetContext,
): { readonly paths?: readonly string[] } {
  const paths = subjects.flatMap((subject) => (subject.kind === "path" ? [workspace.files.resolve(subject.path)] : []))
  return access === "write" && paths.length > 0 ? { paths } : {}
}

function beginsTurn(message: Message): message is UserMessage {
  return message.role === "user" && (message.synthetic === undefined || message.synthetic === "background")
}

/** The sessions that a resumed conversation had before its compressions, newest first. */
async function sessionsBefore({ services, session }: FacetContext): Promise<readonly string[]> {
  try {
    const store = await services.store()
    const row = await store.session(session().conversation.id)
    const rows = row === undefined ? [] : await conversationRows(store, row)
    return rows.map(({ id }) => id)
  } catch (error) {
    services.log.warning(`cannot find the earlier checkpoints of this conversation: ${errorMessage(error)}`)
    return []
  }
}

async function openCheckpoints(
  context: FacetContext,
  how: {
    readonly enabled: boolean
    readonly initialDirectory: string
    readonly earlierSessionIds: readonly string[]
    readonly rewind: (messageCount: number) => void
  },
): Promise<Checkpoints> {
  const { services, workspace } = context
  const { config, environment, home, clock, log } = services
  const [{ createCheckpoints }, { checkpointSettings }] = await Promise.all([
    import("../../exec/checkpoints/checkpoints.ts"),
    import("../../exec/checkpoints/checkpoint-settings.ts"),
  ])
  return createCheckpoints({
    home: home.path,
    userHome: home.userHome,
    initialDirectory: how.initialDirectory,
    workdir: () => workspace.cwd(),
    sessionId: () => context.session().conversation.id,
    earlierSessionIds: () => how.earlierSessionIds,
    messageTimestamp: () => context.session().conversation.history.findLast(beginsTurn)?.timestamp,
    path: environment.get("PATH") ?? "",
    settings: { ...checkpointSettings(config), enabled: how.enabled },
    clock,
    log,
    // The user's own change, so that the check of a background process must not undo it.
    restored: (paths) => {
      services.backgroundChecks.accept(realPath(how.initialDirectory), paths.filter(isProtectedFile).map(realEntry))()
    },
    conversation: {
      messages: () => context.session().conversation.history,
      todo: () => context.ports().todo?.read() ?? [],
      rewind: ({ messageCount }) => {
        how.rewind(messageCount)
      },
    },
  })
}
